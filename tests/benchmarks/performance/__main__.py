"""How fast, beside what, and how flat: `python -m tests.benchmarks.performance [--passages N] [--quick]`.

Makes a database of its own, fills it, starts the servers on the loopback interface, measures, and writes
docs/performance.md's tables, its plots and results.json. All comparisons are interleaved: read ratios, not values.
"""

import argparse
import asyncio
import contextlib
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.embedded import running
from app.migrating import migrate
from tests.benchmarks.performance import comparing, corpus, report, statements
from tests.benchmarks.performance.bed import CALLERS, OPEN, SIZES, Bed
from tests.benchmarks.performance.questions import questions
from tests.benchmarks.performance.rivals import postgraphile

PAGE = Path(__file__).parents[3] / "docs" / "performance.md"


@dataclass(frozen=True)
class Amounts:
    """How much is measured. `growth`: passages of other tenants beside 1,000 of one's own."""

    passages: int
    growth: tuple[int, ...]
    questions: int
    rounds: int
    requests: int
    memory: int


def _amounts(options: argparse.Namespace) -> Amounts:
    if options.quick:
        return Amounts(min(options.passages, 10_000), (1_000, 10_000), 3, 3, 60, 1_000)
    return Amounts(options.passages, (1_000, 10_000, 100_000), 8, 5, 200, options.memory)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.performance", description=__doc__)
    parser.add_argument("--passages", type=int, default=100_000, help="of the measured workspace, to 1,000,000")
    parser.add_argument("--quick", action="store_true", help="10,000 passages and few rounds: to see that all works")
    parser.add_argument("--memory", type=int, default=20_000, help="requests of the memory's measure")
    parser.add_argument("--no-postgraphile", action="store_true", help="without the one rival that comes from npm")
    parser.add_argument("--npm", type=Path, default=Path(tempfile.gettempdir()) / "gctl-postgraphile")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the tables go")
    return parser.parse_args()


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gctl-performance-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # as root, the database runs as another user, who must get there
        yield folder


async def _growth(bed: Bed, amounts: Amounts) -> dict[int, dict[str, Any]]:
    """The small knowledge base as the data of others grows. The last step is the measured workspace itself."""
    found: dict[int, dict[str, Any]] = {}
    asked = {name: queries[: amounts.questions] for name, queries in questions(bed.small).items()}
    there = 0
    for others in amounts.growth:
        if there == 0:
            await bed.fill_small(others)
        elif others <= SIZES[1]:
            await bed.fill_others(10, others - there)
        else:
            await bed.fill_main()
        there = others
        connection = await bed.connect()
        base = bed.small.made(4, 0)
        await statements.classes(connection, bed.small, OPEN, base, asked)
        found[others] = {
            "classes": await statements.classes(connection, bed.small, OPEN, base, asked),
            "build": await statements.build(bed, bed.small),
        }
        await connection.close()
        _say(f"grown to {others:,} passages of others")
    if not bed.bases:
        await bed.fill_main()
    return found


async def _sql(bed: Bed, asked: dict[str, list[str]], tantivy: dict[int, dict[str, float]]) -> dict[int, Any]:
    """By knowledge base, caller and class. `share`: of the limit 1.5 F + 8 R; above 10,000 passages 2.5 F + 8 R."""
    connection = await bed.connect()
    found: dict[int, Any] = {}
    for size, base in bed.bases.items():
        factor = 1.5 if size <= SIZES[1] else 2.5
        for caller in CALLERS:
            table = await statements.classes(connection, bed.main, caller, base, asked)
            for name, times in table.items():
                times["share"] = times["retrieve"] / (factor * times["bare"] + 8 * times["trip"])
                if caller is OPEN and size in tantivy:
                    times["tantivy"] = tantivy[size][name]
            found.setdefault(size, {})[caller.name] = table
        _say(f"SQL over {size:,} passages")
    await connection.close()
    return found


def _tantivy(bed: Bed, asked: dict[str, list[str]]) -> dict[int, dict[str, float]]:
    try:
        from tests.benchmarks.performance import ranking
    except ImportError:
        _say("tantivy is not installed: left out")
        return {}
    made = ranking.index(bed.main, list(bed.bases))
    return {size: ranking.classes(made, size, asked) for size in bed.bases}


async def _servers(bed: Bed, npm: Path | None, amounts: Amounts, asked: dict[str, list[str]]) -> dict[str, Any]:
    base = bed.bases[min(SIZES[1], bed.main.passages)]
    with comparing.rivals(bed, npm) as contenders:
        compared, differences = await comparing.differences(contenders, bed, CALLERS, asked)
        _say(f"{compared} answers compared, {len(differences)} not equal")
        medium = questions(bed.main)["medium"]
        table = await comparing.overhead(contenders, base, medium, rounds=amounts.rounds, requests=amounts.requests)
        _say("servers compared")
        product = contenders[0]
        return {
            "equal": {"compared": compared, "differences": differences},
            "overhead": table,
            "crowds": await comparing.crowds(product, base, medium, amounts.requests * 2),
            "memory": await comparing.memory(product, base, medium, amounts.memory),
        }


async def _measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    amounts = _amounts(options)
    with running(folder / "data") as url:
        await migrate(url)
        bed = Bed(url, folder, corpus.Tenant(100, amounts.passages))
        growth = await _growth(bed, amounts)
        asked = {name: queries[: amounts.questions] for name, queries in questions(bed.main).items()}
        npm = None if options.no_postgraphile else await _postgraphile(bed, options.npm)
        served = await _servers(bed, npm, amounts, asked)
        return {
            "about": _about(amounts),
            **served,
            "sql": await _sql(bed, asked, _tantivy(bed, asked)),
            "growth": growth,
        }


async def _postgraphile(bed: Bed, folder: Path) -> Path | None:
    try:
        postgraphile.install(folder)
    except (OSError, subprocess.CalledProcessError) as error:
        _say(f"PostGraphile is left out: {error}")
        return None
    connection = await bed.connect()
    await postgraphile.expose(connection)
    await connection.close()
    return folder


def _about(amounts: Amounts) -> dict[str, Any]:
    return {
        "command": f"python -m tests.benchmarks.performance {' '.join(sys.argv[1:])}".strip(),
        "when": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "load": os.getloadavg()[1],
        "amounts": asdict(amounts),
    }


def _say(text: str) -> None:
    print(f"{datetime.datetime.now(datetime.UTC):%H:%M:%S}  {text}", file=sys.stderr, flush=True)


def main() -> None:
    options = _options()
    with _folder() as folder:
        results = asyncio.run(_measure(options, folder))
    written = json.loads(json.dumps(results))  # keys become text, as they are in the file
    report.write(written, options.page)
    print(report.tables(written))


if __name__ == "__main__":
    main()
