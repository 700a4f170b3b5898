"""The results as tables and JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.performance.plots import plots

BEGIN, END = "<!-- tables: begin -->\n", "<!-- tables: end -->\n"
Results = Mapping[str, Any]


def write(results: Results, page: Path) -> None:
    """Put the tables between the page's two marks, and the JSON and the plots into the folder of the page's name."""
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    head, _, rest = page.read_text().partition(BEGIN)
    page.write_text(head + BEGIN + tables(results) + END + rest.partition(END)[2])
    plots(results, folder)


def tables(results: Results) -> str:
    """All of them, in Markdown."""
    about = results["about"]
    parts = [
        f"`{about['command']}`, {about['when']}, {about['machine']}.\n\n",
        *_overhead(results),
        *_statements(results["statements"]),
        *_sql(results["sql"]),
        *_growth(results["growth"]),
        *_crowds(results),
        *_replica(results["replica"]),
        *_memory(results),
    ]
    return "".join(parts)


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(_cell(value) for value in line) + " |\n" for line in lines) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _overhead(results: Results) -> Iterator[str]:
    for limit, rows in results["overhead"].items():
        base = rows["a plain route"]["cpu"]
        yield f"### A retrieve, limit {limit}, 10,000 passages, two clients\n\n"
        yield _table(
            ["server", "CPU ms a request", "of the plain route's", "requests/s", "p50 ms", "p95", "p99"],
            [[n, r["cpu"], r["cpu"] / base, r["rate"], r["p50"], r["p95"], r["p99"]] for n, r in rows.items()],
        )
    equal = results["equal"]
    yield f"Answers compared: {equal['compared']:,}, not equal: {len(equal['differences'])}.\n\n"


def _statements(found: Results) -> Iterator[str]:
    yield "### The product's statements, counted by `pg_stat_statements`\n\n"
    yield (
        "All questions of the table below, put by two clients to a server just started, in turn for an open caller and "
        "one of 100 grants. Times are in ms; planning, rows and blocks (of 8 kB) are those of a call, in the mean.\n\n"
    )
    rows = [
        [
            int(size),
            name,
            s["calls"],
            s["plans"],
            *(float(s[n]) for n in ("plan", "mean", "max", "rows", "hit", "read")),
        ]
        for size, statements in found.items()
        for name, s in statements.items()
    ]
    head = ["passages", "statement", "calls", "plans made", "planning", "mean", "max", "rows", "blocks hit", "read"]
    yield _table(head, rows)


def _sql(found: Results) -> Iterator[str]:
    yield "### SQL of a retrieve, ms\n\n"
    yield (
        "`retrieve` are its two statements, one after the other, through bare asyncpg; `planning` and `execution` are "
        "what PostgreSQL itself says of the search (no planning: its plan is kept); F the content search without "
        "admission, R a `SELECT 1`; tantivy ranks in process, without admission.\n\n"
    )
    columns = ("retrieve", "search", "plan", "execute", "bare", "trip", "share")
    rows = [
        [int(size), caller, name, *(float(times[column]) for column in columns), times.get("tantivy", "")]
        for size, callers in found.items()
        for caller, classes in callers.items()
        for name, times in classes.items()
    ]
    head = ["passages", "caller", "question", "retrieve", "search", "planning", "execution", "F", "R", "of its limit"]
    yield _table([*head, "tantivy"], rows)


def _growth(grown: Results) -> Iterator[str]:
    yield "### Growth\n\n"
    yield (
        "SQL of a retrieve over 1,000 passages, ms, beside the data of others. Each row is a database of its own; they "
        "are measured by turns, and the best of all rounds is shown.\n\n"
    )
    rows = [
        [
            int(others),
            *[times["retrieve"] for times in each["classes"].values()],
            max(times["trip"] for times in each["classes"].values()),
            each["build"],
        ]
        for others, each in grown.items()
    ]
    classes = next(iter(grown.values()))["classes"]
    yield _table(["passages of others", *classes, "R", "build, µs a passage"], rows)


def _crowds(results: Results) -> Iterator[str]:
    yield "### Many clients, 10,000 passages, limit 10\n\n"
    yield _rates("clients", results["crowds"])
    yield "Ten clients, `gctl serve --workers`; PostgreSQL and the clients run on the same cores:\n\n"
    yield _rates("workers", results["workers"])


def _replica(found: Results) -> Iterator[str]:
    yield "Ten clients, and a read replica on the same cores:\n\n"
    yield _rates("", found["servers"])
    yield f"Of {found['searches']:,} searches with one replica, {found['replica']:,} ran on it.\n\n"


def _rates(of: str, rows: Results) -> str:
    return _table(
        [of, "requests/s", "CPU ms a request", "p50 ms", "p95", "p99"],
        [[name, r["rate"], r["cpu"], r["p50"], r["p95"], r["p99"]] for name, r in rows.items()],
    )


def _memory(results: Results) -> Iterator[str]:
    worker = results["worker"]
    kinds = ", ".join(f"{number:,} of the kind {name}" for name, number in worker["kinds"].items())
    yield "### Memory\n\n"
    yield _table(
        ["process", "", "resident MB", "", "resident MB"],
        [
            _ends("gctl serve", "requests", results["memory"]),
            _ends("gctl worker", "jobs", worker["samples"]),
        ],
    )
    yield f"Jobs: {kinds}.\n\n"


def _ends(process: str, what: str, samples: Sequence[Sequence[int]]) -> list[object]:
    (few, first), (many, last) = samples[0], samples[-1]
    return [process, f"after {few:,} {what}", first / 1e6, f"after {many:,}", last / 1e6]
