"""JSON: `key: value` lines, in the file's order."""

import json
from collections.abc import Iterator
from typing import Any

from app.library.formats.document import Document, ExtractionError

_TOO_DEEP = "The JSON is nested too deeply to be read. Flatten it, or add its text as plain text."
_NOT_JSON = "The file is not valid JSON. It was read as plain text."
_LITERALS = {True: "true", False: "false", None: "null"}


def read(text: str) -> Document:
    """Keys and values, numbers as they are written, keys that are there twice twice. Broken JSON is plain text."""
    try:
        value = json.loads(text, object_pairs_hook=tuple, parse_int=str, parse_float=str, parse_constant=str)
        return Document("\n".join(_lines(value)))
    except RecursionError as error:
        raise ExtractionError(_TOO_DEEP) from error
    except ValueError:
        return Document(text, notes=(_NOT_JSON,))


def _lines(value: Any) -> Iterator[str]:
    """An object is a tuple of pairs here, an array a list. An empty line stands before each container in an array."""
    if isinstance(value, tuple):
        for key, item in value:
            if isinstance(item, tuple | list):
                yield f"{key}:"
                yield from _lines(item)
            else:
                yield f"{key}: {_scalar(item)}"
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, tuple | list):
                yield ""
                yield from _lines(item)
            else:
                yield f"- {_scalar(item)}"
    else:
        yield _scalar(value)


def _scalar(value: str | bool | None) -> str:
    return value if isinstance(value, str) else _LITERALS[value]
