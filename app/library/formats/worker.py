"""The process that reads one file: bytes on standard input, a JSON line and the text on standard output.

    python -m app.library.formats.worker KIND DECLARED CHARACTERS SECONDS BYTES

It bounds itself before it reads the file, and trusts nothing in it. Whoever starts it bounds it again from outside.
"""

import json
import os
import resource
import sys
from dataclasses import asdict
from typing import Any

from app.library.formats.document import ExtractionError, Kind
from app.library.formats.reading import Reader, reader


def main(kind: str, declared: str, characters: str, seconds: str, memory: str) -> None:
    # Before the limits: loading a library needs memory of its own, and may write its bytecode.
    read = reader(Kind(kind), limit=int(characters))
    with os.fdopen(os.dup(1), "wb") as output:
        os.dup2(2, 1)  # what a library prints is not an answer
        _limit(int(seconds), int(memory))
        answer, text = _answer(read, declared, int(memory))
        output.write(json.dumps(answer | {"bytes": len(text)}).encode() + b"\n" + text)


def _limit(seconds: int, memory: int) -> None:
    # Its soft limit comes a second before the hard one, and by a signal that tells why the process ended.
    _bound(resource.RLIMIT_CPU, seconds, seconds + 1)
    for limit, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
    ):
        _bound(limit, value, value)


def _bound(limit: int, soft: int, hard: int) -> None:
    """Never above what the process was started with, which it may not raise."""
    outer = resource.getrlimit(limit)[1]
    if outer != resource.RLIM_INFINITY:
        soft, hard = min(soft, outer), min(hard, outer)
    resource.setrlimit(limit, (soft, hard))


def _answer(read: Reader, declared: str, memory: int) -> tuple[dict[str, Any], bytes]:
    try:
        document = asdict(read(sys.stdin.buffer.read(), declared))
    except ExtractionError as error:
        return {"reason": error.reason, "cause": repr(error.__cause__ or error)}, b""
    except MemoryError:
        return {"reason": None, "cause": f"more than {memory} bytes"}, b""
    except Exception as error:  # a library's fault on this file, as likely as ours
        return {"reason": None, "cause": repr(error)}, b""
    return document, document.pop("text").encode()


if __name__ == "__main__":
    main(*sys.argv[1:])
