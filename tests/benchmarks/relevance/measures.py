"""The usual measures, over a ranking of documents."""

import math
from collections.abc import Mapping, Sequence


def ndcg(ranking: Sequence[str], grades: Mapping[str, float], depth: int = 10) -> float:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002), a grade being its gain."""
    gains = [grades.get(document, 0.0) for document in ranking[:depth]]
    return _discounted(gains) / _discounted(sorted(grades.values(), reverse=True)[:depth])


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))


def recall(ranking: Sequence[str], grades: Mapping[str, float], depth: int) -> float:
    """The share of the documents with a grade that are among the first."""
    return sum(document in grades for document in ranking[:depth]) / len(grades)


def success(places: Sequence[int | None], depth: int) -> float:
    """The share of the questions whose document is among the first hits. Places count from 1, None is not found."""
    return sum(place is not None and place <= depth for place in places) / len(places)


def mean_reciprocal_rank(places: Sequence[int | None]) -> float:
    return sum(1 / place for place in places if place is not None) / len(places)
