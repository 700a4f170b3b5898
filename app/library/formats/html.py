"""HTML as a reader sees it: headings, list items and table rows are marked as in Markdown."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from app.library.formats.cleaning import one_line
from app.library.formats.decoding import decode
from app.library.formats.document import Document
from app.library.formats.markdown import LONGEST_DESCRIPTION, LONGEST_TITLE

_UNSEEN = frozenset({"head", "script", "style", "template", "noscript", "iframe", "object", "-comment"})
# An empty line stands around these, a line end around those.
_APART = re.compile(
    "address|article|aside|blockquote|body|caption|center|details|dialog|dir|div|dl|fieldset|figcaption|figure|footer|form"
    "|h[1-6]|header|hgroup|hr|legend|main|menu|nav|ol|p|pre|search|section|select|summary|table|ul"
)
_LINES = re.compile("li|dt|dd|tr|tbody|thead|tfoot|option|optgroup")
_MARKS = {f"h{level}": "#" * level + " " for level in range(1, 7)} | {"li": "- ", "tr": "| "}
_CELLS = frozenset({"td", "th"})
_SPACE = re.compile(r"[ \t\r\n\f]+")


class _Step(NamedTuple):
    node: LexborNode
    opens: bool


def read(content: bytes, declared: str = "") -> Document:
    """A page's visible text, its title element and its description. Encoding: mark, declared, meta element, UTF-8."""
    # A meta element must stand within the first 1,024 bytes (HTML Standard, 4.2.5.4).
    tree = LexborHTMLParser(decode(content, f"{declared} {content[:1024].decode('latin-1')}"))
    title = tree.css_first("head title")
    meta = tree.css_first("meta[name=description i]")
    return Document(
        _text(tree),
        one_line(title.text(), LONGEST_TITLE) if title else None,
        one_line(meta.attributes.get("content"), LONGEST_DESCRIPTION) if meta else None,
    )


def _text(tree: LexborHTMLParser) -> str:
    lines = _Lines()
    preformatted = 0
    for node, opens in _walk(tree.body):
        tag = node.tag or ""
        if tag == "-text":
            lines.add(node.text_content or "", preformatted > 0)
        elif tag == "br" and opens:
            lines.end()
        elif tag in _CELLS and not opens:
            lines.end_cell()
        elif (apart := _APART.fullmatch(tag)) or _LINES.fullmatch(tag):
            lines.end(apart=bool(apart))
            preformatted += (1 if opens else -1) * (tag == "pre")
            lines.mark = _MARKS.get(tag, lines.mark) if opens else ""
    lines.end()
    return "\n".join(lines.done).rstrip("\n")


def _walk(top: LexborNode | None) -> Iterator[_Step]:
    """Every visible node, and elements once more when they close. Without recursion: pages nest deeply."""
    node, depth = top, 0
    while node is not None:
        seen = node.tag not in _UNSEEN
        if seen:
            yield _Step(node, opens=True)
        if seen and (child := node.first_child) is not None:
            node, depth = child, depth + 1
            continue
        while node is not None:
            if node.tag not in _UNSEEN and node.tag != "-text":
                yield _Step(node, opens=False)
            if depth == 0:
                return
            if (following := node.next) is not None:
                node = following
                break
            node, depth = node.parent, depth - 1


class _Lines:
    """Lines under construction. `mark` is what the next text's line begins with."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.mark = ""
        self._pieces: list[str] = []

    def add(self, text: str, preformatted: bool) -> None:
        self._pieces.append(text if preformatted else _SPACE.sub(" ", text))

    def end_cell(self) -> None:
        """Set a cell apart from the next. One that holds paragraphs has ended its line already."""
        if self._pieces:
            self._pieces.append(" | ")

    def end(self, *, apart: bool = False) -> None:
        """End the line. `apart`: an empty line follows, as between paragraphs."""
        line = "".join(self._pieces)
        self._pieces.clear()
        if line.strip():
            self.done.append(self.mark + line.strip(" "))
            self.mark = ""
        if apart and self.done and self.done[-1]:
            self.done.append("")
