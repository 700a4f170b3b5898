"""The operations as their clients know them: `gctl`'s client commands, and the tools for agents.

They are read from graphql_schema/operations.json, which is made from the schema: nothing here imports the schema or a
library that is slow to import. A client's names are snake_case, GraphQL's camelCase; `to_camel` and `to_snake` are
each other's inverse on every name of the schema (the file is not made if they are not), and only names that a JSON
Schema here lists are changed.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from app.errors import InvalidInput

FILE_NAME = "operations.json"
SHORTEST_WORD = 3  # of those that a search for operations looks for

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """A root field of the schema under a name. `document` runs it; `input_schema` and `output_schema` are JSON Schema.

    `kind` is `read` or `write`; `field` the root field that holds the answer.
    """

    name: str
    kind: str
    description: str
    field: str
    document: str
    input_schema: Schema
    output_schema: Schema

    @property
    def room(self) -> str:
        return self.name.partition(".")[0]

    @property
    def verb(self) -> str:
        """The name without its room."""
        return self.name.partition(".")[2]

    def variables(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The variables of `document` for a body. Raises InvalidInput for names it may not or must have.

        GraphQL passes over variables that a document does not declare: a misspelled name would be a question that
        nobody asked. What the values may be is GraphQL's to say.
        """
        check_names(body, self.input_schema)
        variables: dict[str, Any] = _to_graphql(body, self.input_schema)
        return variables

    def answer(self, data: Mapping[str, Any]) -> Any:
        """What the root field answered, in snake_case."""
        return _from_graphql(data[self.field], self.output_schema)


@cache
def operations() -> Mapping[str, Operation]:
    """All operations by their names, in the order of the schema."""
    return {each["name"]: Operation(**each) for each in json.loads(_file().read_bytes())}


def _file() -> Path:
    """Beside the schema, whose package need not be run to be found."""
    package = find_spec("graphql_schema")
    assert package is not None
    assert package.submodule_search_locations is not None
    return Path(package.submodule_search_locations[0]) / FILE_NAME


def find_operation(name: str) -> Operation:
    """Raises InvalidInput with the nearest names for one that is not there."""
    found = operations().get(name)
    if found is None:
        raise InvalidInput("name", f"there is no operation {name!r}.{_nearest(name, operations())}")
    return found


def search_operations(query: str) -> list[Operation]:
    """Operations in which words stand that begin as words of the query do, best first; without such words, all.

    A word counts by where it stands: four in the name, two in the description, one in what is said of the fields.
    """
    wanted = [word for word in _words(query) if len(word) >= SHORTEST_WORD]
    scores = {name: sum(_weight(word, texts) for word in wanted) for name, texts in _texts().items()}
    found = [operation for name, operation in operations().items() if scores[name] or not wanted]
    return sorted(found, key=lambda operation: -scores[operation.name])


def _weight(wanted: str, texts: Sequence[tuple[int, Collection[str]]]) -> int:
    same = wanted.removesuffix("s")
    fits = (weight for weight, words in texts if any(word.startswith(wanted) or word == same for word in words))
    return next(fits, 0)


@cache
def _texts() -> Mapping[str, Sequence[tuple[int, Collection[str]]]]:
    """For each operation the words that it is found by, with their weight, the highest first."""
    return {
        name: (
            (4, _words(name)),
            (2, _words(each.description)),
            (1, _words(" ".join([*_said(each.input_schema), *_said(each.output_schema)]))),
        )
        for name, each in operations().items()
    }


def _words(text: str) -> Collection[str]:
    return dict.fromkeys(re.findall(r"[a-z0-9]+", text.lower()))


def _said(schema: Schema) -> Iterator[str]:
    """The names and the descriptions of fields, those of objects below too."""
    for name, below in schema.get("properties", {}).items():
        yield name
        yield below["description"]
        yield from _said(below.get("items", below))


def to_camel(name: str) -> str:
    """`knowledge_base_id` to `knowledgeBaseId`."""
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)


def to_snake(name: str) -> str:
    """`knowledgeBaseId` to `knowledge_base_id`."""
    return re.sub(r"[A-Z]", lambda match: f"_{match[0].lower()}", name)


def check_names(value: Any, schema: Schema, path: str = "") -> None:
    """Raises InvalidInput for a name that the schema does not list, and for one that it requires and is not there.

    Names below others are given with dots: `file.media_type`.
    """
    if isinstance(value, list):
        for item in value:
            check_names(item, schema.get("items", {}), path)
    known = schema.get("properties")
    if known is None or not isinstance(value, Mapping):
        return
    for name, below in value.items():
        if name not in known:
            raise InvalidInput(path + name, f"is not a field here.{_nearest(to_snake(name), known)}")
        check_names(below, known[name], f"{path}{name}.")
    for name in schema["required"]:
        if name not in value:
            raise InvalidInput(path + name, "is required.")


def _nearest(name: str, known: Iterable[str]) -> str:
    names = list(known)
    if near := get_close_matches(name, names, n=3, cutoff=0.5):
        return f" Did you mean {' or '.join(near)}?"
    return f" There is {', '.join(names)}." if 0 < len(names) <= 10 else ""


def _to_graphql(value: Any, schema: Schema) -> Any:
    if isinstance(value, list):
        return [_to_graphql(item, schema.get("items", {})) for item in value]
    known = schema.get("properties")
    if known is None or not isinstance(value, Mapping):
        return value
    return {to_camel(name): _to_graphql(below, known[name]) for name, below in value.items()}


def _from_graphql(value: Any, schema: Schema) -> Any:
    if isinstance(value, list):
        return [_from_graphql(item, schema.get("items", {})) for item in value]
    known = schema.get("properties")
    if known is None or not isinstance(value, Mapping):
        return value
    answered = ((name, to_camel(name)) for name in known)
    return {name: _from_graphql(value[theirs], known[name]) for name, theirs in answered if theirs in value}


def problem(error: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of a GraphQL answer's `errors` as one flat object: `message`, and the extensions as GraphQL names them.

    `argument` names a field of a body, so its value is snake_case.
    """
    flat = {"message": error.get("message", ""), **error.get("extensions", {})}
    if isinstance(flat.get("argument"), str):
        flat["argument"] = to_snake(flat["argument"])
    return flat
