"""The states of an index and what follows from them. Pure (SPEC R6, R17).

    none ──build──> BUILDING ──> READY ──sources or versions change──> STALE ──refresh──> READY
                        │          │                                     │
                        └──────────┴──a member can't be read──> FAILED ──┴──repair──> READY or FAILED

A successor is built beside an index that is READY, which goes on serving. The two are exchanged in one transaction and
the older one is RETIRED: a job drops its rows. With auto_refresh a STALE index is refreshed at once, and a FAILED one
repaired when what it should hold changes.
"""

from enum import StrEnum


class State(StrEnum):
    BUILDING = "BUILDING"
    READY = "READY"
    STALE = "STALE"
    FAILED = "FAILED"
    RETIRED = "RETIRED"


class Work(StrEnum):
    """What a job has to do with an index: the changed members, all of them, or those that failed."""

    REFRESH = "REFRESH"
    REBUILD = "REBUILD"
    REPAIR = "REPAIR"


class Remedy(StrEnum):
    """What a caller can do about an index that is not ready."""

    REBUILD = "REBUILD"
    WAIT = "WAIT"
    REFRESH = "REFRESH"
    REPAIR = "REPAIR"


def shown_state(state: str, work: str | None) -> State:
    """What the world sees: an index that is not READY and is being worked on is BUILDING."""
    return State.BUILDING if work is not None and state != State.READY else State(state)


def remedy(state: State | None) -> Remedy | None:
    """What helps an index in this state; None for one that is READY. `state` None: there is no index yet."""
    match state:
        case None:
            return Remedy.REBUILD
        case State.BUILDING:
            return Remedy.WAIT
        case State.STALE:
            return Remedy.REFRESH
        case State.FAILED:
            return Remedy.REPAIR
        case _:
            return None


def progress(state: State, done: int, total: int) -> float:
    """The share of the members that are done, from 0 to 1."""
    if state in (State.READY, State.STALE):
        return 1.0
    return min(done / total, 1.0) if total else 0.0
