"""What becomes of each gate, and the sentence that is said of it. Pure (SPEC R27)."""

from collections.abc import Sequence
from dataclasses import replace

from app.knowledge_bases.facts import IndexState
from app.knowledge_bases.lifecycle import Remedy, remedy, shown_state
from app.query import Query
from app.retrieval.gates import Facts, Gate, GateName, Lacking, Outcome, Standing, Step
from app.retrieval.request import MAX_LIMIT


def _passed(name: GateName, sentence: str) -> Gate:
    return Gate(name, Outcome.PASSED, sentence)


def _failed(name: GateName, sentence: str) -> Gate:
    return Gate(name, Outcome.FAILED, sentence)


_REMEDIES = {
    Remedy.REBUILD: "Build it with rebuildIndex.",
    Remedy.WAIT: "Wait until it is built.",
    Remedy.REFRESH: "Refresh it with refreshIndex.",
    Remedy.REPAIR: "Mend what its failures name, then repair it with repairIndex.",
}


def index_gate(of_base: bool, index: IndexState | None) -> Gate:
    """R6. Without a knowledge base the workspace's own index is searched, which is always ready."""
    if not of_base:
        return _passed(GateName.INDEX_READY, "The whole workspace is searched, which needs no building.")
    state = None if index is None else shown_state(index.state, index.work)
    helps = remedy(state)
    if helps is None:
        return replace(_passed(GateName.INDEX_READY, "The knowledge base's index is READY."), index_state=state)
    said = "has not been built yet" if state is None else f"is {state}"
    sentence = f"The knowledge base's index {said}, so it is not searched. {_REMEDIES[helps]}"
    return replace(_failed(GateName.INDEX_READY, sentence), index_state=state, remedy=helps)


def admission_gates(of_base: bool, facts: Facts) -> list[Gate]:
    """From membership to rights, up to the first that fails (R5, R7, R11)."""
    gates = [_member(of_base, facts)]
    version = f"Version {facts.searched_number}"
    listed = "It is in the source list, or none was sent."
    passages = f"{version} has {facts.passage_count} passage{'' if facts.passage_count == 1 else 's'}."
    for name, passes, good, bad in (
        (GateName.LIFECYCLE, facts.active, "The source exists.", "The source is being deleted."),
        (
            GateName.AVAILABILITY,
            facts.available,
            "The source is AVAILABLE.",
            "The source is UNAVAILABLE. Who manages it can change that with setSourceAvailability.",
        ),
        (
            GateName.FILE_KEPT,
            facts.kept,
            f"The stored file of version {facts.searched_number} is kept.",
            f"The stored file of version {facts.searched_number} was discarded. Add the file as a new version.",
        ),
        (
            GateName.TEXT,
            bool(facts.passage_count),
            passages,
            f"{version} has no text that could be read, so neither search finds it.",
        ),
        (GateName.SOURCE_LIST, facts.listed, listed, "A source list was sent, and the source is not in it."),
        (
            GateName.READABLE,
            facts.readable,
            "You may read it.",
            "You may see its details but not read it. It is private: that takes source.read, or source.content beside "
            "source.details.",
        ),
    ):
        if gates[-1].outcome is Outcome.FAILED:
            break
        gates.append(_passed(name, good) if passes else _failed(name, bad))
    return gates


def refused_by_authorizer() -> Gate:
    """R12."""
    return _failed(GateName.READABLE, "The authorization service does not let you read it.")


def _member(of_base: bool, facts: Facts) -> Gate:
    if facts.searched_id is not None:
        gate = _passed(GateName.MEMBER, f"It is searched at version {facts.searched_number}, {_against_newest(facts)}")
    elif of_base and not facts.held:
        gate = _failed(
            GateName.MEMBER, "The knowledge base does not hold the source. Add it with addKnowledgeBaseSources."
        )
    else:
        gate = _failed(GateName.MEMBER, f"No version of the source can be searched yet. {_unread(facts)}")
    return replace(gate, searched_version_id=facts.searched_id, newest_version_id=facts.newest_id)


def _against_newest(facts: Facts) -> str:
    if facts.newest_id == facts.searched_id:
        return "its newest."
    return f"though version {facts.newest_number} is newer. {_unread(facts)}"


def _unread(facts: Facts) -> str:
    match facts.newest_status:
        case "PENDING":
            return f"Version {facts.newest_number} waits to be read."
        case "FAILED":
            return f"Version {facts.newest_number} could not be read: {facts.newest_reason}"
        case _:
            return "The index does not hold it yet."


def match_gates(
    query: Query, facts: Facts, standing: Standing | None, lacking: Lacking | None, *, any_word: bool
) -> list[Gate]:
    """R8-R10, R28: whether the text matches; where it does not, whether title and description do, or any word.

    `any_word`: the third step is asked. `standing` None: none of the searches finds the source.
    """
    step = None if standing is None else standing.step
    if standing is not None and step is Step.CONTENT:
        gate = _matched(GateName.CONTENT_MATCH, "A passage of it holds every word of the question.", standing)
        return [gate, _needless(GateName.TITLE_MATCH), _needless(GateName.ANY_WORD_MATCH)]
    content = _failed(GateName.CONTENT_MATCH, _text_lacks(lacking))
    if lacking is not None:
        content = replace(content, missing=lacking.text, nearest=lacking.nearest)
    if standing is not None and step is Step.TITLE:
        exact = facts.title_key == query.title_key
        said = "The question is its whole title." if exact else "Title and description hold every word of the question."
        return [content, _matched(GateName.TITLE_MATCH, said, standing), _needless(GateName.ANY_WORD_MATCH)]
    title = _failed(GateName.TITLE_MATCH, _title_lacks(lacking))
    if lacking is not None:
        title = replace(title, missing=lacking.title)
    return [content, title, _any_word(standing, any_word)]


def _any_word(standing: Standing | None, asked: bool) -> Gate:
    name = GateName.ANY_WORD_MATCH
    if standing is not None:
        return _matched(name, "A passage of it holds words of the question.", standing)
    if asked:
        return _failed(name, "No passage of it holds any word of the question.")
    return Gate(name, Outcome.NOT_REACHED, "Not asked: that takes `match: ANY_WORD` and a question of several words.")


def _needless(name: GateName) -> Gate:
    return Gate(name, Outcome.NOT_REACHED, "Not asked: an earlier search finds it.")


def _matched(name: GateName, said: str, standing: Standing) -> Gate:
    place = standing.place_in_step
    stands = "Too many others match better." if place is None else f"It stands at place {place} of {_HITS[name]} hits."
    return replace(_passed(name, f"{said} {stands}"), place=place)


_HITS = {
    GateName.CONTENT_MATCH: "the content",
    GateName.TITLE_MATCH: "the title",
    GateName.ANY_WORD_MATCH: "those",
}


def _text_lacks(lacking: Lacking | None) -> str:
    if lacking is None:
        return "The question has no word that could stand in a text."
    if lacking.text:
        return f"{_of_first(lacking)}No passage of it holds {_listed(lacking.text, 'or')}."
    nearest = lacking.nearest
    if nearest is None or not nearest.missing:
        return f"{_of_first(lacking)}Its text holds every word, but not all together in one passage."
    return (
        f"{_of_first(lacking)}Its text holds every word, but not all in one passage: passage {nearest.ordinal}, the "
        f"nearest, lacks {_listed(nearest.missing, 'and')}."
    )


def _title_lacks(lacking: Lacking | None) -> str:
    if lacking is None:
        return "The question is not its whole title."
    if not lacking.title:
        return f"{_of_first(lacking)}Title and description hold every word, but not all the others."
    return f"{_of_first(lacking)}Title and description lack {_listed(lacking.title, 'and')}."


def _of_first(lacking: Lacking) -> str:
    return f"Of the question's first {lacking.asked} words: " if lacking.asked else ""


def _listed(words: Sequence[str], joint: str) -> str:
    marked = [word if word.startswith('"') else f"“{word}”" for word in words]
    return marked[0] if len(marked) == 1 else f"{', '.join(marked[:-1])} {joint} {marked[-1]}"


def limit_gate(standing: Standing, limit: int, found: bool) -> Gate:
    """Whether the hits before it leave it a place (R8, R9, R13)."""
    place = standing.place
    if place is None:
        sentence = f"Too many hits stand before it to count its place: no limit up to {MAX_LIMIT} would show it."
        return _failed(GateName.WITHIN_LIMIT, f"{sentence} {_NARROW}")
    stands = f"It stands at place {place}, and the limit is {limit}"
    if found:
        gate = _passed(GateName.WITHIN_LIMIT, f"{stands}.")
    elif place <= limit:
        gate = _failed(
            GateName.WITHIN_LIMIT,
            f"{stands}, but so many hits before it were refused by the authorization service that the search stopped "
            "short of it. Ask for more, or send a source list.",
        )
    elif place <= MAX_LIMIT:
        gate = _failed(GateName.WITHIN_LIMIT, f"{stands}: a limit of {place} would show it.")
    else:
        gate = _failed(GateName.WITHIN_LIMIT, f"{stands}: not even {MAX_LIMIT}, the largest, would show it. {_NARROW}")
    return replace(gate, place=place)


_NARROW = "Ask with more of its words, or send a source list."
