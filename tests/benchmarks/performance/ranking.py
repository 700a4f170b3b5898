"""tantivy in this process over the same passages: how fast ranking can be, with an index filter and no admission."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import tantivy

from tests.benchmarks.performance.corpus import Tenant


def index(tenant: Tenant, bases: Sequence[int], folder: Path) -> tantivy.Index:
    """Passages with the names of the knowledge bases that hold them, by words without stemming or stop words."""
    folder.mkdir()
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("base", stored=False, tokenizer_name="raw")
    schema.add_text_field("text", stored=False, tokenizer_name="default")
    schema.add_unsigned_field("number", stored=True)
    made = tantivy.Index(schema.build(), path=str(folder))
    writer = made.writer(heap_size=64_000_000, num_threads=1)
    for source in range(tenant.sources):
        for ordinal, text in enumerate(tenant.texts(source)):
            number = source * 5 + ordinal
            held = [str(size) for size in bases if number < size]
            writer.add_document(tantivy.Document(base=held, text=text, number=number))
    writer.commit()
    writer.wait_merging_threads()
    made.reload()
    return made


def classes(made: tantivy.Index, base: int, questions: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """The median of each class in ms, the best of three runs of each question."""
    searcher = made.searcher()
    found = {}
    for name, queries in questions.items():
        times = []
        for text in queries:
            words = text if text.startswith('"') else " AND ".join(text.split())
            query = made.parse_query(f"base:{base} AND ({words})", ["text"])
            times.append(min(_run(searcher, query) for _ in range(3)))
        found[name] = sorted(times)[len(times) // 2]
    return found


def _run(searcher: tantivy.Searcher, query: tantivy.Query) -> float:
    started = time.perf_counter()
    hits = searcher.search(query, 10).hits
    for _, address in hits:
        searcher.doc(address)
    return 1_000 * (time.perf_counter() - started)
