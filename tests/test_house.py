"""The habits of the house, held by the tools that know them."""

import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from app.models import Base
from app.services import Services
from graphql_schema.schema import SDL_FILE, schema

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["ruff", "check", "."], id="lint"),
        pytest.param(["ruff", "format", "--check", "."], id="format"),
        pytest.param(["mypy"], id="types"),
        pytest.param(["lint-imports"], id="imports"),
    ],
)
def test_a_tool_finds_nothing(command: list[str]) -> None:
    done = subprocess.run([BIN / command[0], *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_committed_sdl_is_the_schema() -> None:
    assert SDL_FILE.read_text() == schema.as_str() + "\n", "run: python -m graphql_schema.schema"


async def test_the_migrations_make_the_tables_of_the_models(services: Services) -> None:
    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection)
        return list(compare_metadata(context, Base.metadata))

    async with services.database.engine.connect() as connection:
        assert await connection.run_sync(differences) == []
