"""Admission against a reference written from the rules' words, over random grants (SPEC R1-R4, R7).

One example is a workspace of random sources and callers with random grants, asked for every pair of them: 50 examples
of 60 pairs. Beside it stands another workspace with sources of the same ids and the same subjects, who may do
everything there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import insert
from sqlalchemy.dialects.postgresql import insert as upsert

from app.access.grants import FOREVER
from app.access.subject import Subject
from app.access.workspaces import ensure_workspace
from app.database import WriteSession
from app.library.sources import list_sources
from app.models import SourceGrant, WorkspaceGrant
from app.query import parse
from app.retrieval.repository import search_index
from app.retrieval.scopes import Scope, load_scopes
from app.services import Services
from tests.access.filling import Draft, fill_rows

EXAMPLES, CALLERS, SHELVED = 50, 6, 10
SUBJECTS = ["user:a", "user:b", "agent:a", "group:a", "group:b", "group:c"]
WORKSPACE_ACTIONS = ["workspace_read_until", "library_read_until", "library_manage_until"]
SOURCE_ACTIONS = ["read_until", "details_until", "content_until"]
PAST, COMING = datetime.now(UTC) - timedelta(seconds=1), datetime.now(UTC) + timedelta(days=1)
QUESTIONS = parse("quayside"), parse("ledger")  # in every text, in every title

Untils = dict[str, datetime | None]
OnWorkspace = dict[str, Untils]
OnSources = dict[tuple[int, str], Untils]

moments = st.sampled_from([None, None, None, PAST, COMING, FOREVER])
bits = st.integers(0, 9).map(lambda n: n != 0)  # mostly true
callers = st.builds(
    lambda id_, groups: (id_, frozenset(groups)),
    st.sampled_from(SUBJECTS[:3]),
    st.sets(st.sampled_from(SUBJECTS[3:])),
)
shelved = st.fixed_dictionaries(
    {"private": st.booleans(), "owner": st.sampled_from(SUBJECTS), "active": bits, "available": bits, "kept": bits}
)
source_grants = st.dictionaries(
    st.tuples(st.integers(0, SHELVED - 1), st.sampled_from(SUBJECTS)),
    st.fixed_dictionaries(dict.fromkeys(SOURCE_ACTIONS, moments)),
    max_size=24,
)
workspace_grants = st.dictionaries(
    st.sampled_from(SUBJECTS), st.fixed_dictionaries(dict.fromkeys(WORKSPACE_ACTIONS, moments)), max_size=2
)


@dataclass
class Example:
    """What hypothesis drew: the callers (subject, groups), the sources, and what subjects hold until when."""

    callers: Sequence[tuple[str, frozenset[str]]]
    sources: Sequence[dict[str, Any]]
    on_sources: OnSources
    on_workspace: OnWorkspace

    def seen_and_found(self, caller: tuple[str, frozenset[str]], number: int) -> tuple[bool, bool, bool]:
        """The rules in words: whether the caller sees the source's details, may read it, and finds it."""
        source, names = self.sources[number], {caller[0]} | caller[1]

        def holds(action: str, grants: OnWorkspace) -> bool:
            untils = [grants[name][action] for name in names if name in grants]
            return any(until is not None and until > datetime.now(UTC) for until in untils)

        here = {subject: held for (of, subject), held in self.on_sources.items() if of == number}
        wide = holds("workspace_read_until", self.on_workspace) or holds("library_read_until", self.on_workspace)
        reads = source["owner"] in names or holds("read_until", here)
        details = reads or holds("details_until", here)
        content = holds("content_until", here)
        if source["private"]:
            may_see, may_read = details, reads or (details and content)
        else:
            may_see = may_read = wide or details
        searchable = source["active"] and source["available"] and source["kept"]
        return (
            may_see and source["active"],
            may_read and source["active"] and source["available"],
            (may_read and searchable),
        )


examples = st.builds(
    Example,
    st.lists(callers, min_size=CALLERS, max_size=CALLERS),
    st.lists(shelved, min_size=SHELVED, max_size=SHELVED),
    source_grants,
    workspace_grants,
)


@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(example=examples)
async def test_admission_is_the_rule(services: Services, example: Example) -> None:
    drafts = [Draft(f"Ledger {n}", "by the quayside", **source) for n, source in enumerate(example.sources)]
    numbers = {draft.id: n for n, draft in enumerate(drafts)}
    workspace_id = await _store(services, example, drafts)
    for caller in example.callers:
        subject = Subject(workspace_id, *caller)
        expected = [example.seen_and_found(caller, n) for n in range(SHELVED)]
        async with services.database.read() as session:
            listed = await list_sources(session, subject, after=None, first=SHELVED)
        open_read = (await load_scopes(services.database, subject, [])).open_read
        hits = [
            await search_index(
                services.database,
                subject,
                Scope(open_read, None),
                query=query,
                limit=SHELVED,
                source_ids=None,
            )
            for query in QUESTIONS
        ]
        allowed = await services.authorizer.check(subject, [draft.id for draft in drafts])
        assert {numbers[source.id] for source in listed} == {n for n, (seen, _, _) in enumerate(expected) if seen}
        assert allowed == [may_read for _, may_read, _ in expected]
        for found in hits:
            assert {numbers[hit.source_id] for hit in found} == {n for n, (_, _, finds) in enumerate(expected) if finds}


async def _store(services: Services, example: Example, drafts: Sequence[Draft]) -> UUID:
    """The example in a workspace of its own, and its twin, where every subject may do everything."""
    everything: OnWorkspace = {subject: dict.fromkeys(WORKSPACE_ACTIONS, FOREVER) for subject in SUBJECTS}
    everywhere: OnSources = {(n, s): dict.fromkeys(SOURCE_ACTIONS, FOREVER) for n in range(SHELVED) for s in SUBJECTS}
    async with services.database.write() as session:
        twin = await ensure_workspace(session, f"twin-{uuid4()}")
        await fill_rows(session, twin, drafts)
        await _hold(session, twin, drafts, everything, everywhere)
    async with services.database.write() as session:
        workspace_id = await ensure_workspace(session, f"example-{uuid4()}")
        await fill_rows(session, workspace_id, drafts)
        await _hold(session, workspace_id, drafts, example.on_workspace, example.on_sources)
    return workspace_id


async def _hold(
    session: WriteSession,
    workspace_id: UUID,
    drafts: Sequence[Draft],
    on_workspace: OnWorkspace,
    on_sources: OnSources,
) -> None:
    held = [{"workspace_id": workspace_id, "subject": subject} | untils for subject, untils in on_workspace.items()]
    if held:
        await session.execute(insert(WorkspaceGrant), held)
    granted = [
        {"workspace_id": workspace_id, "subject": subject, "source_id": drafts[number].id} | untils
        for (number, subject), untils in on_sources.items()
    ]
    if granted:
        rows = upsert(SourceGrant).values(granted)  # beside what owners have
        keys = ["workspace_id", "subject", "source_id"]
        columns = {action: rows.excluded[action] for action in SOURCE_ACTIONS}
        await session.execute(rows.on_conflict_do_update(index_elements=keys, set_=columns))
