"""What the tests of this room share."""

from collections.abc import AsyncIterator

import pytest_asyncio

from app.settings import Settings
from graphql_schema.asgi import create
from tests.retrieval.listening import Statements, listening
from tests.serving import serving
from tests.world import World


@pytest_asyncio.fixture
async def heard(world: World, settings: Settings) -> AsyncIterator[Statements]:
    """The world's callers talk to a server of its own, whose statements are heard."""
    with listening() as statements:
        async with serving(create(settings)) as address:
            world.address = address
            await world.reader.ask("{ viewer { subject } }")
            yield statements
