"""The collections: documents, questions, and which documents answer which question."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.importing import Document
from app.library.service import NewFile

# They are not part of the project: data/README.md beside the checkout's folder says where each comes from.
DATA = Path(__file__).parents[4] / "shared" / "data"
JUDGED = ("cranfield", "scifact")
KNOWN_ITEMS = "digitalgov"


@dataclass(frozen=True)
class KnownItem:
    """A question that one document answers. `in_body`: its words stand together somewhere in the text."""

    query: str
    kind: str
    expected: str
    in_body: bool


@dataclass(frozen=True)
class Judged:
    """A question and the grades, above 0, of the documents that answer it."""

    query: str
    grades: dict[str, float]


def documents(data: Path, name: str, with_title: bool) -> Iterator[Document]:
    """A collection's documents. `with_title`: the title is the first line of the file too, as abstracts are printed."""
    for line in _lines(data / name / ("docs.jsonl.gz" if name == KNOWN_ITEMS else "corpus.jsonl.gz")):
        text = line.get("body", line.get("text", ""))
        title = line["title"].strip()[:500] or line["id"]
        yield Document(
            external_id=line["id"],
            file=NewFile("file.md", "text/markdown", (f"{title}\n\n{text}" if with_title else text).encode()),
            title=title,
            description=line.get("description") or None,
        )


def known_items(data: Path) -> list[KnownItem]:
    return [
        KnownItem(line["query"], line["kind"], line["expected"], line["in_body"])
        for line in _lines(data / KNOWN_ITEMS / "known_items.jsonl")
    ]


def judged(data: Path, name: str) -> list[Judged]:
    """The questions that have an answer."""
    grades: dict[str, dict[str, float]] = {}
    for row in (data / name / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, grade = row.split("\t")
        if float(grade) > 0:
            grades.setdefault(query, {})[document] = float(grade)
    asked = {line["id"]: line["text"] for line in _lines(data / name / "queries.jsonl")}
    return [Judged(asked[query], answers) for query, answers in grades.items()]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        yield from map(json.loads, lines)
