"""What the third step costs at 100,000 passages, beside simpler statements over the same rows for the same caller.

The passages are the collections' own, copied with new ids: copies make ties and common words more common, which is
fine for times. All forms of a question are timed in turn; of each, the best of the rounds counts.
"""

import random
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from uuid import UUID

import asyncpg

from app.access.subject import Subject
from app.database import PLANNER, HotStatement
from app.query import Query, parse
from app.retrieval import any_word
from app.retrieval.repository import told
from app.retrieval.scopes import Scope
from app.retrieval.statements import Form, content_search, search
from app.services import Services
from tests.benchmarks.relevance.collections import JUDGED, judged, known_items

PASSAGES = 100_000
PRIVATE = 5  # every fifth source, about
OPEN, GRANTED = "user:open", "user:granted"
GRANTS = 100
LIMIT = 10
WORKSPACE = UUID("11111111-1111-4111-8111-111111111111")

# A column's name in braces stands for the id of its copy. Lots are drawn by the hash of an id.
COPY = [
    """INSERT INTO sources (workspace_id, id, title, description, private, owner, title_key, title_tsv)
       SELECT $1, {id}, title, description, hashtext({id}::text) % {private} = 0, owner, title_key, title_tsv
       FROM sources WHERE workspace_id <> $1""",
    """INSERT INTO source_versions (workspace_id, id, source_id, number, file_name, media_type, size, sha256, status)
       SELECT $1, {id}, {source_id}, number, file_name, media_type, size, sha256, status
       FROM source_versions WHERE workspace_id <> $1""",
    """INSERT INTO version_access (workspace_id, version_id, source_id, private, active, available, kept)
       SELECT $1, {version_id}, {source_id}, hashtext({source_id}::text) % {private} = 0, active, available, kept
       FROM version_access WHERE workspace_id <> $1""",
    """INSERT INTO passages
           (workspace_id, id, source_id, version_id, ordinal, start_offset, end_offset, text, text_hash)
       SELECT $1, {id}, {source_id}, {version_id}, ordinal, start_offset, end_offset, text, text_hash
       FROM passages WHERE workspace_id <> $1""",
    """INSERT INTO index_members (workspace_id, index_id, source_id, version_id, first_passage_id, passage_count)
       SELECT $1, $1, {source_id}, {version_id}, {first_passage_id}, passage_count
       FROM index_members WHERE workspace_id <> $1 AND index_id = workspace_id""",
    """INSERT INTO index_postings
           (workspace_id, index_id, passage_id, source_id, version_id, ordinal, sample, tsv)
       SELECT $1, $1, {passage_id}, {source_id}, {version_id}, ordinal, abs(hashtext({passage_id}::text)) % 16, tsv
       FROM index_postings WHERE workspace_id <> $1 AND index_id = workspace_id ORDER BY source_id, ordinal""",
]


async def timing_table(services: Services, data: Path, questions: int, rounds: int) -> None:
    url = services.database.url.set(drivername="postgresql").render_as_string(hide_password=False)
    connection = await asyncpg.connect(url, server_settings=PLANNER)
    try:
        passages = await _fill(connection)
        asked = _questions(data, questions)
        print(
            f"\n{passages:,} passages, {len(asked)} questions, limit {LIMIT}, best of {rounds} rounds; ms, p50 (p95)\n"
        )
        print("| caller | ALL_WORDS | commonest word | OR, ts_rank | ANY_WORD | of OR | of the commonest word |")
        print("|---|---|---|---|---|---|---|")
        for subject, open_read in ((OPEN, True), (GRANTED, False)):
            times = [await _Forms.of(query, subject, open_read).measure(connection, rounds) for query in asked]
            print(f"| {subject} | {' | '.join(_summary(times))} |")
    finally:
        await connection.close()


async def _fill(connection: Any) -> int:
    """The measured workspace; the number of its passages."""
    await connection.execute("INSERT INTO workspaces VALUES ($1, 'timing')", WORKSPACE)
    await connection.execute(
        "INSERT INTO indexes (workspace_id, id, generation, state) VALUES ($1, $1, 1, 'READY')", WORKSPACE
    )
    there = await connection.fetchval("SELECT count(*) FROM index_postings WHERE index_id = workspace_id")
    for copy in range(max(PASSAGES // there, 1)):
        columns = ("id", "source_id", "version_id", "passage_id", "first_passage_id")
        copied = {column: f"md5({column}::text || 'copy {copy}')::uuid" for column in columns}
        for statement in COPY:
            await connection.execute(statement.format(**copied, private=PRIVATE), WORKSPACE)
    await connection.execute(
        "INSERT INTO source_grants (workspace_id, subject, source_id, read_until) "
        "SELECT workspace_id, $2, id, 'infinity' FROM sources WHERE workspace_id = $1 ORDER BY md5(id::text) LIMIT $3",
        WORKSPACE, GRANTED, GRANTS,
    )  # fmt: skip
    await connection.execute("VACUUM ANALYZE")  # also empties the list of entries that are not yet in their GIN index
    passages: int = await connection.fetchval("SELECT count(*) FROM index_postings WHERE workspace_id = $1", WORKSPACE)
    return passages


def _questions(data: Path, number: int) -> list[Query]:
    texts = [item.query for item in known_items(data)]
    texts = random.Random(1).sample(texts, 150)  # noqa: S311 not for secrets
    texts += [question.query for name in JUDGED for question in judged(data, name)]
    chosen = random.Random(2).sample(texts, number)  # noqa: S311 not for secrets
    return [query for query in map(parse, chosen) if len(query.terms) > 1]


_ALL = {open_read: HotStatement(search(Form(True, open_read))) for open_read in (True, False)}
_CONTENT = {open_read: HotStatement(content_search(open_read)) for open_read in (True, False)}
_ANY = {open_read: HotStatement(search(Form(True, open_read, any_word=True))) for open_read in (True, False)}


@dataclass(frozen=True)
class _Forms:
    """The statements of one question and caller, by name; each with its arguments."""

    query: Query
    base: dict[str, object]
    open_read: bool

    @classmethod
    def of(cls, query: Query, subject: str, open_read: bool) -> "_Forms":
        base = {
            "workspace_id": WORKSPACE,
            **told(Subject(WORKSPACE, subject), Scope(open_read, None)),
            "subjects": [subject],
            "all_words": query.all_words,
            "title_key": query.title_key,
            "limit": LIMIT,
            "source_ids": None,
            "denied": [],
        }
        return cls(query, base | any_word.parameters(query), open_read)

    async def measure(self, connection: Any, rounds: int) -> dict[str, float]:
        """Milliseconds by form."""
        forms = {
            "all": (_ALL[self.open_read], self.base),
            "one": (_CONTENT[self.open_read], self.base | {"all_words": await self._commonest(connection)}),
            "or": (_CONTENT[self.open_read], self.base | {"all_words": self.base["any_of_them"]}),
            "any": (_ANY[self.open_read], self.base),
        }
        best = dict.fromkeys(forms, float("inf"))
        for _ in range(rounds):
            for name, (statement, parameters) in forms.items():
                arguments = statement.arguments(parameters)
                start = time.perf_counter()
                await connection.fetch(statement.sql, *arguments)
                best[name] = min(best[name], 1_000 * (time.perf_counter() - start))
        return best

    async def _commonest(self, connection: Any) -> str:
        counts = {
            term.tsquery: await connection.fetchval(
                "SELECT count(*) FROM index_postings WHERE workspace_id = $1 AND index_id = $1 AND sample = 0"
                " AND tsv @@ $2::text::tsquery",
                WORKSPACE, term.tsquery,
            )
            for term in self.query.terms
        }  # fmt: skip
        return max(counts, key=counts.__getitem__)


def _summary(times: list[dict[str, float]]) -> list[str]:
    columns = [[row[name] for row in times] for name in ("all", "one", "or", "any")]
    columns += [[row["any"] / row[name] for row in times] for name in ("or", "one")]
    return [f"{median(column):.2f} ({quantiles(column, n=20)[-1]:.2f})" for column in columns]
