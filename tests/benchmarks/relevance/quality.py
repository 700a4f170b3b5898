"""The tables of docs/relevance.md that say how good the answers are."""

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from app.retrieval.request import MatchMode
from app.services import Services
from tests.benchmarks.relevance.collections import JUDGED, KNOWN_ITEMS, KnownItem, judged, known_items
from tests.benchmarks.relevance.library import Searched, searched
from tests.benchmarks.relevance.measures import mean_reciprocal_rank, ndcg, recall, success

GROUPS: dict[str, Callable[[KnownItem], bool]] = {
    "all": lambda _: True,
    "title": lambda item: item.kind == "title",
    "words": lambda item: item.kind == "words",
    "phrase": lambda item: item.kind == "phrase",
    "in the body": lambda item: item.in_body,
    "not in the body": lambda item: not item.in_body,
}


async def known_items_table(services: Services, data: Path) -> None:
    library = await searched(services, data, KNOWN_ITEMS, with_title=False)
    items = known_items(data)
    print(f"\n{KNOWN_ITEMS}: {len(library.names):,} documents, {len(items)} known items\n")
    print("| match | items | number | success@1 | @10 | @50 | MRR |\n|---|---|---|---|---|---|---|")
    for match in MatchMode:
        places = [await _place(library, item, match) for item in items]
        for group, belongs in GROUPS.items():
            chosen = [place for place, item in zip(places, items, strict=True) if belongs(item)]
            figures = [*(success(chosen, depth) for depth in (1, 10, 50)), mean_reciprocal_rank(chosen)]
            print(f"| {match} | {group} | {len(chosen)} | {_row(figures)} |")


async def _place(library: Searched, item: KnownItem, match: MatchMode) -> int | None:
    """The place of the first hit of the item's document."""
    hits = await library.hits(item.query, match)
    return hits.index(item.expected) + 1 if item.expected in hits else None


async def judged_table(services: Services, data: Path) -> None:
    print("\n| collection | file | match | nDCG@10 | Recall@50 |\n|---|---|---|---|---|")
    for name in JUDGED:
        questions = judged(data, name)
        for with_title in (True, False):
            library = await searched(services, data, name, with_title=with_title)
            for match in MatchMode:
                rankings = [await library.ranking(question.query, match) for question in questions]
                pairs = list(zip(rankings, (question.grades for question in questions), strict=True))
                figures = [
                    statistics.mean(ndcg(ranking, grades) for ranking, grades in pairs),
                    statistics.mean(recall(ranking, grades, 50) for ranking, grades in pairs),
                ]
                print(f"| {name} | {'title and text' if with_title else 'text'} | {match} | {_row(figures)} |")


def _row(figures: Sequence[float]) -> str:
    return " | ".join(f"{figure:.3f}" for figure in figures)
