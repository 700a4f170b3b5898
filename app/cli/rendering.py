"""Answers for a person on a terminal. What documents hold is shown, never obeyed: no character of it moves a cursor."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

HIGHLIGHT = "bold yellow"
ID_LENGTH = 36  # an id that is cut is of no use
TITLES = ("title", "name", "state", "id")


def render(answer: Any, console: Console | None = None) -> None:
    """Print an answer: hits, a page of a list, or anything else as names and values."""
    (console or Console()).print(_rendered(answer))


def _rendered(answer: Any) -> RenderableType:
    if not isinstance(answer, Mapping):
        return _plain(_shown(answer))
    if isinstance(answer.get("hits"), Sequence):
        return _hits(answer)
    if isinstance(answer.get("nodes"), Sequence):
        return _page(answer)
    return _values(answer)


def _hits(answer: Mapping[str, Any]) -> RenderableType:
    table = Table("", "Source", "Passage", "Rank", "Text", show_lines=True)
    for number, hit in enumerate(answer["hits"], 1):
        table.add_row(
            str(number),
            _plain(hit["source"]["title"]),
            str(hit["ordinal"]),
            f"{hit['rank']:.3g}",
            highlighted(hit["snippet"]["text"], hit["snippet"]["highlights"]),
        )
    below = [_plain(f"{len(answer['hits'])} hits")]
    if index := answer.get("index"):
        below.append(_plain(f"Index: {index['state']}"))
    if notice := answer.get("notice"):
        below.append(_plain(f"Notice: {notice}"))
    return Group(table, *below) if answer["hits"] else Group(*below)


def highlighted(text: str, ranges: Sequence[Mapping[str, int]]) -> Text:
    """The text with these ranges of code points marked."""
    shown = _plain(text)
    for each in ranges:
        shown.stylize(HIGHLIGHT, each["start"], each["end"])
    return shown


def _page(page: Mapping[str, Any]) -> RenderableType:
    nodes: Sequence[Mapping[str, Any]] = page["nodes"]
    columns = [name for name in (nodes[0] if nodes else {}) if any(node[name] is not None for node in nodes)]
    table = Table(*(Column(name, min_width=ID_LENGTH if name == "id" else None) for name in columns))
    for node in nodes:
        table.add_row(*(_plain(_shown(node[name])) for name in columns))
    info = page["page_info"]
    more = f'There is more: "after": "{info["end_cursor"]}"' if info["has_next_page"] else f"{len(nodes)} in all"
    return Group(table, _plain(more)) if nodes else _plain("None.")


def _values(answer: Mapping[str, Any]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for name, value in _flat(answer):
        table.add_row(Text(name, style="bold"), _plain(value))
    return table


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield from _flat(below, f"{path}.{name}" if path else name)
    elif isinstance(value, Sequence) and any(isinstance(item, Mapping) for item in value):
        for number, item in enumerate(value, 1):
            yield from _flat(item, f"{path}.{number}")
    else:
        yield path, _shown(value)


def _shown(value: Any) -> str:
    """A value in one cell; an object by what names it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return _shown(next((value[name] for name in TITLES if name in value), None))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_shown, value)) or "-"
    return str(value)


def _plain(text: str) -> Text:
    """One character for each, so that ranges stay good."""
    return Text("".join(each if each.isprintable() or each == "\n" else "\N{REPLACEMENT CHARACTER}" for each in text))
