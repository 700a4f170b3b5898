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
from typing import Any, TypeAlias
from uuid import UUID

from app.migrating import migrate
from tests.benchmarks.performance import comparing, corpus, deployments, growth, jobs, report, statements
from tests.benchmarks.performance.bed import CALLERS, OPEN, SIZES, Bed
from tests.benchmarks.performance.postgres import postgres
from tests.benchmarks.performance.questions import questions
from tests.benchmarks.performance.rivals import postgraphile

Asked: TypeAlias = dict[str, list[str]]
PAGE = Path(__file__).parents[3] / "docs" / "performance.md"


@dataclass(frozen=True)
class Amounts:
    """How much is measured: passages of the workspace, questions of a class, rounds, `requests` of each round,
    requests of the server's memory, jobs of the worker's.
    """

    passages: int
    questions: int
    rounds: int
    requests: int
    memory: int
    jobs: int


def _amounts(options: argparse.Namespace) -> Amounts:
    if options.quick:
        return Amounts(min(options.passages, 10_000), 3, 3, 60, 1_000, 200)
    return Amounts(options.passages, 8, 5, 200, options.memory, 2_000)


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


async def _sql(bed: Bed, asked: Asked, tantivy: dict[int, dict[str, float]]) -> dict[int, Any]:
    """By knowledge base, caller and class. `share`: of the limit 1.5 F + 8 R; above 10,000 passages 2.5 F + 8 R."""
    found: dict[int, Any] = {}
    async with bed.plans() as plans:
        for size, base in bed.bases.items():
            factor = 1.5 if size <= SIZES[1] else 2.5
            for caller in CALLERS:
                where = plans, bed.main, caller, base, asked
                table = statements.medians([await statements.times(*where)])
                within = statements.medians([await statements.inside(*where)])
                for name, times in table.items():
                    times.update(within[name])
                    times["share"] = times["retrieve"] / (factor * times["bare"] + 8 * times["trip"])
                    if caller is OPEN and size in tantivy:
                        times["tantivy"] = tantivy[size][name]
                found.setdefault(size, {})[caller.name] = table
            _say(f"SQL over {size:,} passages")
    return found


def _tantivy(bed: Bed, asked: Asked) -> dict[int, dict[str, float]]:
    try:
        from tests.benchmarks.performance import ranking
    except ImportError:
        _say("tantivy is not installed: left out")
        return {}
    made = ranking.index(bed.main, list(bed.bases), bed.folder / "tantivy")
    return {size: ranking.classes(made, size, asked) for size in bed.bases}


async def _servers(bed: Bed, npm: Path | None, amounts: Amounts, asked: Asked) -> dict[str, Any]:
    base, medium = _compared(bed)
    with comparing.rivals(bed, npm) as contenders:
        compared, differences = await comparing.differences(contenders, bed, CALLERS, asked)
        _say(f"{compared} answers compared, {len(differences)} not equal")
        table = await comparing.overhead(contenders, base, medium, rounds=amounts.rounds, requests=amounts.requests)
        _say("servers compared")
        product = contenders[0]
        found = {
            "equal": {"compared": compared, "differences": differences},
            "overhead": table,
            "crowds": await comparing.crowds(product, base, medium, amounts.requests * 2),
            "memory": await comparing.memory(product, base, medium, amounts.memory),
        }
    _say("crowds and memory")
    return found


async def _deployments(bed: Bed, amounts: Amounts, asked: Asked) -> dict[str, Any]:
    base, medium = _compared(bed)
    counted = await deployments.statements(bed, asked, amounts.requests * 5)
    _say("statements counted")
    often = {"rounds": amounts.rounds, "requests": amounts.requests * 2}
    workers = await deployments.workers(bed, base, medium, **often)
    _say("workers")
    replica = await deployments.replica(bed, base, medium, **often)
    _say("a replica")
    worker = await jobs.memory(bed, amounts.jobs)
    _say("memory of a worker")
    return {"statements": counted, "workers": workers, "replica": replica, "worker": worker}


def _compared(bed: Bed) -> tuple[UUID, list[str]]:
    """What servers are compared over: the knowledge base of 10,000 passages, and words that 3% of them hold."""
    return bed.bases[min(SIZES[1], bed.main.passages)], questions(bed.main)["medium"]


async def _measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    amounts = _amounts(options)
    async with postgres(folder / "data") as url:
        await migrate(url)
        bed = Bed(url, folder, corpus.Tenant(100, amounts.passages))
        urls = await growth.grown(bed)
        _say(f"filled, {', '.join(f'{others:,}' for others in urls)} passages of others")
        npm = None if options.no_postgraphile else await _postgraphile(bed, options.npm)
        asked, small = [
            {name: queries[: amounts.questions] for name, queries in questions(tenant).items()}
            for tenant in (bed.main, bed.small)
        ]
        grown = await growth.measure(bed, urls, small, amounts.rounds * 3)
        _say("growth")
        served = await _servers(bed, npm, amounts, asked)
        sql = await _sql(bed, asked, _tantivy(bed, asked))
        arranged = await _deployments(bed, amounts, asked)
        return {"about": _about(amounts), **served, "sql": sql, "growth": grown, **arranged}


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
