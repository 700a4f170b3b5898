"""The worker inside of the server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from app.jobs.worker import Worker


@asynccontextmanager
async def working(worker: Worker) -> AsyncIterator[None]:
    """Work while the block runs. What is cut off at the end is taken up again by the next worker."""
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
