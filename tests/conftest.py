"""One real PostgreSQL and one real server for the whole run. Each test has a workspace of its own: commits are real.

`TEST_DATABASE_URL` names a server to use in place of the embedded one; its database must be empty and may be filled.
"""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import pytest_asyncio

from app.embedded import running
from app.services import Services, open_services
from app.settings import Settings
from graphql_schema.asgi import create
from tests.serving import serving
from tests.world import World

SECRET = "a secret that only the tests know, of 32 bytes and more"


@pytest.fixture(scope="session")
def settings() -> Iterator[Settings]:
    """The settings of the run: jobs are done when a test says so, not behind its back."""
    given = os.environ.get("TEST_DATABASE_URL")
    with TemporaryDirectory(prefix="gctl-tests-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # as root, the database runs as another user, who must get there
        if given is not None:
            yield _settings(given, folder)
            return
        with running(folder / "data") as url:
            yield _settings(url, folder)


def _settings(url: str, folder: Path) -> Settings:
    return Settings.model_validate(
        {
            "database_url": url,
            "data_dir": folder,
            "jwt_secret": SECRET,
            "worker_in_server": False,
            "job_poll_seconds": 0.1,
        }
    )


@pytest_asyncio.fixture(scope="session")
async def services(settings: Settings) -> AsyncIterator[Services]:
    """The product's own services, for what no caller can do over GraphQL: operators' calls, and the worker."""
    async with open_services(settings) as opened:
        yield opened


@pytest_asyncio.fixture(scope="session")
async def server(settings: Settings) -> AsyncIterator[str]:
    """The address of the whole product on a real socket."""
    async with serving(create(settings)) as address:
        yield address


@pytest_asyncio.fixture
async def world(services: Services, server: str) -> AsyncIterator[World]:
    """A workspace of its own, and callers in it."""
    async with World.made(services, server) as made:
        yield made
