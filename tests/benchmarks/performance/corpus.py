"""A seeded corpus of invented words in many workspaces, written by COPY into the product's own tables.

The words' frequencies follow Zipf's law as Mandelbrot corrected it, p(r) ~ 1 / (r + 2.7)^1.05, over 30,000 words; a
passage has 180 of them, a source five passages, one source in five is private. The first sources of the measured
workspace are in all of its knowledge bases, so each base holds the smaller ones.
"""

import hashlib
import io
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from app.knowledge_bases.indexing import SAMPLES
from app.words import search_vector, title_key, title_vector

SEED = 8
WORDS = 30_000
WORDS_EACH = 180
PASSAGES_EACH = 5
PRIVATE_ONE_IN = 5
BATCH = 2_000  # sources sent to the server in one COPY
GIN = "CREATE INDEX ix_index_postings_tsv ON index_postings USING gin (index_id, tsv)"
COPIED = {
    "sources": "workspace_id id title description private owner title_key title_tsv",
    "source_versions": "workspace_id id source_id number file_name media_type size sha256 status passage_count",
    "version_access": "workspace_id version_id source_id private active available kept",
    "source_grants": "workspace_id subject source_id owner",
    "passages": "workspace_id id source_id version_id ordinal start_offset end_offset text text_hash",
    "index_members": "workspace_id index_id source_id version_id first_passage_id passage_count",
    "index_postings": "workspace_id index_id passage_id source_id version_id ordinal sample tsv",
}


def _vocabulary() -> list[str]:
    """Words that the stemmer leaves as they are, the commonest first."""
    syllables = ["".join(pair) for pair in itertools.product("bdfgklmnprtvz", "aou")]
    words = ["".join(parts) for parts in itertools.product(syllables, repeat=3)]
    random.Random(SEED).shuffle(words)  # noqa: S311 nothing is secret here
    return words[:WORDS]


VOCABULARY = _vocabulary()
_WEIGHTS = list(itertools.accumulate((rank + 2.7) ** -1.05 for rank in range(1, WORDS + 1)))


@dataclass(frozen=True)
class Tenant:
    """A workspace with so many passages in its library."""

    number: int
    passages: int

    @property
    def name(self) -> str:
        return f"tenant-{self.number}"

    @property
    def id(self) -> UUID:
        return self.made(0, 0)

    @property
    def sources(self) -> int:
        return max(1, self.passages // PASSAGES_EACH)

    def made(self, kind: int, number: int) -> UUID:
        """An id that sorts by its number, as those of the product do. Kinds: 1 source, 2 version, 3 passage, 4 base,
        5 index.
        """
        return UUID(int=0x0190 << 112 | 0x7 << 76 | 0x8 << 60 | self.number << 48 | kind << 40 | number)

    def texts(self, source: int) -> list[str]:
        """The passages of a source: the same on every machine."""
        chance = random.Random(f"{SEED}/{self.number}/{source}")  # noqa: S311
        words = chance.choices(VOCABULARY, cum_weights=_WEIGHTS, k=WORDS_EACH * PASSAGES_EACH)
        return [" ".join(words[i : i + WORDS_EACH]) for i in range(0, len(words), WORDS_EACH)]

    def title(self, source: int) -> tuple[str, str]:
        chance = random.Random(f"title/{self.number}/{source}")  # noqa: S311
        words = chance.choices(VOCABULARY, cum_weights=_WEIGHTS, k=16)
        return " ".join(words[:4]), " ".join(words[4:])


async def fill(connection: asyncpg.Connection, tenants: list[Tenant]) -> None:
    """Write the workspaces, each with its own index. Their GIN index is made anew, as one makes it after a bulk."""
    await connection.execute("DROP INDEX IF EXISTS ix_index_postings_tsv")
    for tenant in tenants:
        await connection.execute("INSERT INTO workspaces (id, name) VALUES ($1, $2)", tenant.id, tenant.name)
        await connection.execute(
            "INSERT INTO indexes (workspace_id, id, generation, state, built_at) VALUES ($1, $1, 1, 'READY', now())",
            tenant.id,
        )
        for first in range(0, tenant.sources, BATCH):
            await _copy(connection, tenant, range(first, min(first + BATCH, tenant.sources)))


async def settle(connection: asyncpg.Connection) -> None:
    """Make the GIN index and the statistics: what is measured is a library at rest."""
    await connection.execute("SET maintenance_work_mem = '256MB'")
    await connection.execute(GIN)
    for table in (*COPIED, "workspace_grants", "knowledge_bases", "indexes"):
        await connection.execute(f"VACUUM (ANALYZE) {table}")


async def knowledge_base(connection: asyncpg.Connection, tenant: Tenant, number: int, passages: int) -> UUID:
    """A knowledge base of the first sources of the workspace, with an index that is READY; its id."""
    base, index = tenant.made(4, number), tenant.made(5, number)
    last = tenant.made(1, passages // PASSAGES_EACH - 1)
    async with connection.transaction():
        await connection.execute(
            "INSERT INTO knowledge_bases (workspace_id, id, name, current_index_id) VALUES ($1, $2, $3, $4)",
            *(tenant.id, base, f"{passages} passages", index),
        )
        await connection.execute(
            "INSERT INTO indexes (workspace_id, id, knowledge_base_id, generation, state, built_at) "
            "VALUES ($1, $2, $3, 1, 'READY', now())",
            *(tenant.id, index, base),
        )
        await connection.execute(
            "INSERT INTO knowledge_base_sources SELECT workspace_id, $2, id FROM sources "
            "WHERE workspace_id = $1 AND id <= $3",
            *(tenant.id, base, last),
        )
        for table, kept in (
            ("index_members", "source_id, version_id, first_passage_id, passage_count"),
            ("index_postings", "passage_id, source_id, version_id, ordinal, sample, tsv"),
        ):
            await connection.execute(
                f"INSERT INTO {table} (workspace_id, index_id, {kept}) SELECT workspace_id, $2, {kept} FROM {table} "  # noqa: S608
                "WHERE workspace_id = $1 AND index_id = $1 AND source_id <= $3",
                *(tenant.id, index, last),
            )
    return base


async def allow(connection: asyncpg.Connection, tenant: Tenant, subject: str, sources: range) -> None:
    """Grant `source.read` on these sources of the workspace."""
    await connection.execute(
        "INSERT INTO source_grants (workspace_id, subject, source_id, read_until) "
        "SELECT $1, $2, id, 'infinity' FROM unnest($3::uuid[]) AS id",
        *(tenant.id, subject, [tenant.made(1, number) for number in sources]),
    )


async def _copy(connection: asyncpg.Connection, tenant: Tenant, sources: range) -> None:
    rows: dict[str, io.BytesIO] = {table: io.BytesIO() for table in COPIED}
    for table, row in itertools.chain.from_iterable(_rows(tenant, source) for source in sources):
        # nothing that is written needs an escape but the digest of a title, whose backslash is there already
        rows[table].write(("\t".join(map(str, row)) + "\n").encode())
    for table, columns in COPIED.items():
        rows[table].seek(0)
        await connection.copy_to_table(table, source=rows[table], columns=columns.split(), format="text")


def _rows(tenant: Tenant, source: int) -> Iterator[tuple[str, tuple[object, ...]]]:
    """The rows of one source, by their tables, in the order of COPIED's columns."""
    workspace, id_, version = tenant.id, tenant.made(1, source), tenant.made(2, source)
    title, description = tenant.title(source)
    private = source % PRIVATE_ONE_IN == 0
    key = "\\\\x" + title_key(title).hex()
    yield "sources", (workspace, id_, title, description, private, "user:owner", key, title_vector(title, description))
    yield "source_versions", (workspace, version, id_, 1, "a.txt", "text/plain", 1, "0" * 64, "INDEXED", PASSAGES_EACH)
    yield "version_access", (workspace, version, id_, private, True, True, True)
    yield "source_grants", (workspace, "user:owner", id_, True)
    first = tenant.made(3, source * PASSAGES_EACH)
    yield "index_members", (workspace, workspace, id_, version, first, PASSAGES_EACH)
    for ordinal, text in enumerate(tenant.texts(source)):
        passage, digest = tenant.made(3, source * PASSAGES_EACH + ordinal), hashlib.sha256(text.encode()).hexdigest()
        yield "passages", (workspace, passage, id_, version, ordinal, 0, len(text), text, digest)
        sample, vector = passage.int % SAMPLES, search_vector(text)
        yield "index_postings", (workspace, workspace, passage, id_, version, ordinal, sample, vector)
