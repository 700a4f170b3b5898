"""What a small knowledge base's questions take beside more and more data of other tenants.

Each step is a database of its own, so that all of them are measured by turns: what a busy minute adds, it adds to all.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from tests.benchmarks.performance import statements
from tests.benchmarks.performance.bed import OPEN, SIZES, Bed

# Tenants beside the measured one and the small ones.
MORE = 2_000


async def grown(bed: Bed) -> dict[int, str]:
    """Fill the bed; the URLs of its databases, by how many passages of others stand beside the small knowledge base.

    The last is the bed's own. The steps before it stop short of the measured workspace.
    """
    urls: dict[int, str] = {}
    there = SIZES[0]
    await bed.fill_small(there)
    for size in [size for size in SIZES[1:3] if size < bed.main.passages]:
        urls[there] = await bed.copied(f"beside_{there}")
        await bed.fill_others(MORE + len(urls), size - there)
        there = size
    urls[there] = await bed.copied(f"beside_{there}")
    await bed.fill_main()
    return {**urls, there + bed.main.passages: bed.url}


async def measure(
    bed: Bed, urls: Mapping[int, str], asked: Mapping[str, Sequence[str]], rounds: int
) -> dict[int, dict[str, Any]]:
    """For each database: `classes`, its medians over each class, and `build`, µs a passage; both the best of rounds.

    In each round the databases take turns at every class.
    """
    base = bed.small.made(4, 0)
    times: dict[int, list[statements.Times]] = {others: [] for others in urls}
    builds: dict[int, list[float]] = {others: [] for others in urls}
    async with contextlib.AsyncExitStack() as stack:
        places = {others: await stack.enter_async_context(bed.plans(url)) for others, url in urls.items()}
        for _ in range(rounds):
            found: dict[int, statements.Times] = {others: {} for others in urls}
            for name, queries in asked.items():
                for others, plans in places.items():
                    found[others] |= await statements.times(plans, bed.small, OPEN, base, {name: queries})
            for others, url in urls.items():
                times[others].append(found[others])
                builds[others].append(await statements.build(url, bed.settings, bed.small))
    return {others: {"classes": statements.medians(times[others]), "build": min(builds[others])} for others in urls}
