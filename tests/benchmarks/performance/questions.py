"""What is asked: classes of questions, by how many of the passages hold their words."""

import random

from tests.benchmarks.performance.corpus import PASSAGES_EACH, SEED, VOCABULARY, WORDS_EACH, Tenant

EACH = 20  # questions in a class


def _words(share: float) -> list[str]:
    """The words that about this share of the passages hold."""
    weights = [(rank + 2.7) ** -1.05 for rank in range(1, len(VOCABULARY) + 1)]
    whole = sum(weights)
    holds = [1 - (1 - weight / whole) ** WORDS_EACH for weight in weights]
    middle = min(range(len(holds)), key=lambda rank: abs(holds[rank] - share))
    width = max(EACH, middle // 10)
    return VOCABULARY[max(0, middle - width // 2) : middle + width // 2]


def questions(tenant: Tenant) -> dict[str, list[str]]:
    """EACH questions of each class; phrases stand in the first sources, which every knowledge base holds."""
    chance = random.Random(SEED)  # noqa: S311 nothing is secret here
    rare, medium, common = _words(0.002), _words(0.03), _words(0.35)

    def pick(*classes: list[str]) -> str:
        return " ".join(chance.choice(words) for words in classes)

    def phrase() -> str:
        text = chance.choice(tenant.texts(chance.randrange(200))[:PASSAGES_EACH]).split()
        start = chance.randrange(len(text) - 2)
        return f'"{" ".join(text[start : start + 2])}"'

    return {
        "rare": [pick(rare) for _ in range(EACH)],
        "medium": [pick(medium) for _ in range(EACH)],
        "common": [pick(common) for _ in range(EACH)],
        "two words": [pick(medium, common) for _ in range(EACH)],
        "three words": [pick(medium, common, common) for _ in range(EACH)],
        "phrase": [phrase() for _ in range(EACH)],
        "two common": [pick(common, common) for _ in range(EACH)],
    }
