"""Markdown stays as it is written. Front matter becomes title and description."""

import re
from dataclasses import replace

import yaml

from app.library.formats.cleaning import one_line
from app.library.formats.document import Document

LONGEST_TITLE, LONGEST_DESCRIPTION = 500, 5_000  # SPEC R16

# Longer is no front matter, and parsing it would take long.
_MOST_FRONT_MATTER = 16_384
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.+)")
_UNDERLINE = re.compile(r" {0,3}=+[ \t]*$")
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
# A title stands near the top.
_TITLE_WITHIN = 10_000


class _Loader(yaml.SafeLoader):
    """Aliases are refused: a few lines of them unfold to gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("alias")
        return super().compose_node(parent, index)


def read(text: str) -> Document:
    """The body, with title and description from front matter, the title else from the first heading.

    Keys of the front matter that are neither are named in a note. What is no mapping in YAML stays in the text.
    """
    document = _read_front_matter(text)
    return replace(document, title=document.title or _first_heading(document.text))


def _read_front_matter(text: str) -> Document:
    block = _FRONT_MATTER.match(text, 0, _MOST_FRONT_MATTER)
    if not block:
        return Document(text)
    try:
        values = yaml.load(block[1], _Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError):
        return Document(text, notes=("The front matter is not plain YAML. It was kept as text.",))
    if not isinstance(values, dict):
        return Document(text)
    title = one_line(values.pop("title", None), LONGEST_TITLE)
    summary = values.pop("summary", None)
    description = one_line(values.pop("description", None) or summary, LONGEST_DESCRIPTION)
    others = ", ".join(str(key) for key in values)
    notes = (f"The front matter was read as metadata, not as text. Not used: {others}.",) if others else ()
    return Document(text[block.end() :], title, description, notes)


def _first_heading(text: str) -> str | None:
    fenced, above = False, ""
    for line in text[:_TITLE_WITHIN].split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and (heading := _HEADING.match(line)):
            return _plain(_without_closing(heading[1]))
        elif not fenced and above.strip() and _UNDERLINE.match(line):
            return _plain(above)
        above = line
    return None


def _without_closing(heading: str) -> str:
    """`Rules ##` is closed, `C#` is not (CommonMark, 4.2)."""
    heading = heading.rstrip()
    bare = heading.rstrip("#")
    return bare if not bare or bare[-1] in " \t" else heading


def _plain(heading: str) -> str | None:
    return one_line(re.sub(r"[*`]", "", _LINK.sub(r"\1", heading)), LONGEST_TITLE)
