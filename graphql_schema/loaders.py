"""The DataLoaders of one operation: keys of one turn become one batch. Plain values of the product come out.

Each is named x_by_y and answers in the order of its keys, with one value or one error for each. A fresh set is made
for every operation: what one caller may see is never kept for another.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cached_property
from typing import Any
from uuid import UUID

from strawberry.dataloader import DataLoader

from app.access.grants import Action, workspace_actions
from app.access.subject import Subject
from app.knowledge_bases.facts import IndexState
from app.knowledge_bases.repository import KnowledgeBaseDetails, find_knowledge_bases
from app.library.reading import ReadPassage, Stretch, passages_by_id, passages_by_stretch
from app.library.sources import SourceDetails, sources_by_id, visible_sources
from app.library.versions import Version, find_versions, latest_versions
from app.retrieval.request import RetrieveRequest
from app.retrieval.scopes import load_scopes
from app.retrieval.service import Answer
from app.services import Services


class Loaders:
    """What one operation has loaded for one caller. A loader is made when it is first asked."""

    def __init__(self, services: Services, subject: Subject) -> None:
        self._database = services.database
        self._authorizer = services.authorizer
        self._retrieval = services.retrieval
        self._subject = subject
        self._batches: set[asyncio.Task[Any]] = set()
        self._read_checked: dict[UUID, bool] = {}

    @cached_property
    def answer_by_request(self) -> DataLoader[RetrieveRequest, Answer]:
        return self._loader(self._answers)

    @cached_property
    def source_by_id(self) -> DataLoader[UUID, SourceDetails | None]:
        return self._loader(self._sources)

    @cached_property
    def version_by_id(self) -> DataLoader[UUID, Version | None]:
        return self._loader(self._versions)

    @cached_property
    def latest_version_by_source(self) -> DataLoader[UUID, Version | None]:
        return self._loader(self._latest_versions)

    @cached_property
    def passage_by_id(self) -> DataLoader[UUID, ReadPassage | None]:
        return self._loader(self._passages)

    @cached_property
    def passages_by_stretch(self) -> DataLoader[Stretch, Sequence[ReadPassage]]:
        return self._loader(self._stretches)

    @cached_property
    def knowledge_base_by_id(self) -> DataLoader[UUID, KnowledgeBaseDetails | None]:
        return self._loader(self._knowledge_bases)

    @cached_property
    def index_by_knowledge_base(self) -> DataLoader[UUID, IndexState | None]:
        return self._loader(self._indexes)

    @cached_property
    def actions_by_subject(self) -> DataLoader[Subject, frozenset[Action]]:
        return self._loader(self._actions)

    async def answer(self, request: RetrieveRequest, *, alone: bool) -> Answer:
        """The answer of one `retrieve` field. `alone`: the operation has no other field whose request could join it."""
        if not alone:
            return await self.answer_by_request.load(request)
        (answer,) = await self._answers([request])
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _answers(self, requests: Sequence[RetrieveRequest]) -> Sequence[Answer | Exception]:
        """All `retrieve` fields of the operation: one authorizer call for all their hits (R12)."""
        return await self._retrieval.answers(self._subject, requests, self.read_checks)

    async def read_checks(self, source_ids: Sequence[UUID]) -> list[bool]:
        """Whether the caller may read each source now, in order. What was answered in an operation is not asked again.

        Not by a loader: what asks here is a batch already, and a key for each source would cost more than asking.
        """
        checked = self._read_checked
        new = [id_ for id_ in dict.fromkeys(source_ids) if id_ not in checked]
        if new:
            answers = await self._authorizer.check(self._subject, new)
            checked |= dict(zip(new, answers, strict=True))  # all of them or none
        return [checked[id_] for id_ in source_ids]

    async def _sources(self, ids: Sequence[UUID]) -> Sequence[SourceDetails | None]:
        found = await sources_by_id(self._database, self._subject, ids)
        return [found.get(id_) for id_ in ids]

    async def _versions(self, ids: Sequence[UUID]) -> Sequence[Version | None]:
        """A version is seen by who sees its source: that is asked again, for all of them at once."""
        async with self._database.read() as session:
            found = await find_versions(session, self._subject.workspace_id, ids)
            sources = await visible_sources(session, self._subject, {v.source_id for v in found.values()})
        seen = {id_: version for id_, version in found.items() if version.source_id in sources}
        return [seen.get(id_) for id_ in ids]

    async def _latest_versions(self, source_ids: Sequence[UUID]) -> Sequence[Version | None]:
        async with self._database.read() as session:
            found = await latest_versions(session, self._subject.workspace_id, source_ids)
        return [found.get(id_) for id_ in source_ids]

    async def _passages(self, ids: Sequence[UUID]) -> Sequence[ReadPassage | None]:
        found = await passages_by_id(self._database, self._subject, ids)
        allowed = await self._allowed(found.values())
        return [passage if (passage := found.get(id_)) and passage.source_id in allowed else None for id_ in ids]

    async def _stretches(self, stretches: Sequence[Stretch]) -> Sequence[Sequence[ReadPassage]]:
        found = await passages_by_stretch(self._database, self._subject, stretches)
        allowed = await self._allowed(passage for passages in found for passage in passages)
        return [[passage for passage in passages if passage.source_id in allowed] for passages in found]

    async def _allowed(self, passages: Iterable[ReadPassage]) -> set[UUID]:
        """The sources that the authorizer lets the caller read, asked as for hits and with them (R12)."""
        source_ids = list(dict.fromkeys(passage.source_id for passage in passages))
        answers = await self.read_checks(source_ids)
        return {source_id for source_id, may in zip(source_ids, answers, strict=True) if may is True}

    async def _knowledge_bases(self, ids: Sequence[UUID]) -> Sequence[KnowledgeBaseDetails | None]:
        async with self._database.read() as session:
            found = await find_knowledge_bases(session, self._subject.workspace_id, ids)
        return [found.get(id_) for id_ in ids]

    async def _indexes(self, base_ids: Sequence[UUID]) -> Sequence[IndexState | None]:
        scopes = await load_scopes(self._database, self._subject, base_ids)
        return [scopes.indexes.get(id_) for id_ in base_ids]

    async def _actions(self, subjects: Sequence[Subject]) -> Sequence[frozenset[Action]]:
        async with self._database.read() as session:
            return [await workspace_actions(session, subject) for subject in subjects]

    def abandon(self) -> None:
        """Stop the batches that are still running. Each is a task of its own, which outlives whoever waited for it.

        And let go of the loaders: they hold this object as it holds them, and with them all that was loaded would
        wait for the garbage collector.
        """
        for batch in self._batches:
            batch.cancel()
        for name in [name for name, value in vars(self).items() if isinstance(value, DataLoader)]:
            delattr(self, name)

    def _loader(self, load: Callable[[Sequence[Any]], Awaitable[Sequence[Any]]]) -> DataLoader[Any, Any]:
        async def batch(keys: list[Any]) -> list[Any]:
            task = asyncio.current_task()
            assert task is not None
            self._batches.add(task)
            task.add_done_callback(self._batches.discard)
            return list(await load(keys))

        return DataLoader(load_fn=batch)
