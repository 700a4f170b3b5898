"""Measure how good the answers are, on a database that is made for it and gone afterwards.

Prints the tables of docs/relevance.md. The collections lie in a folder of their own; without it nothing is measured.
"""

import argparse
import asyncio
import sys
from pathlib import Path

from app.logs import configure_logs
from tests.benchmarks.relevance.collections import DATA
from tests.benchmarks.relevance.library import own_services
from tests.benchmarks.relevance.quality import judged_table, known_items_table
from tests.benchmarks.relevance.timing import timing_table


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.relevance", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the collections")
    parser.add_argument("--timing", action="store_true", help="also measure times, at 100,000 passages")
    parser.add_argument("--questions", type=int, default=60, help="that are timed")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


async def _run(options: argparse.Namespace) -> None:
    async with own_services() as services:
        configure_logs(services.settings)
        await known_items_table(services, options.data)
        await judged_table(services, options.data)
        if options.timing:
            await timing_table(services, options.data, options.questions, options.rounds)


def main() -> None:
    options = _options()
    if not options.data.is_dir():
        sys.exit(f"Nothing is measured: there are no collections at {options.data}.")
    asyncio.run(_run(options))


if __name__ == "__main__":
    main()
