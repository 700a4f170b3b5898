"""An operation ends when its client does."""

import asyncio
from types import TracebackType

from starlette.types import Receive

from graphql_schema.http.requests import ClientGone


class Connected:
    """`async with Connected(receive):` cancels what runs inside when the client goes, and raises ClientGone.

    It works as asyncio.timeout does: a watcher cancels this very task, and the cancellation that was ours becomes
    ClientGone on the way out. Any other (the server shuts down) passes.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._gone = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("Connected needs a task")
        self._task = task
        self._cancelling = task.cancelling()
        self._watcher = asyncio.create_task(self._watch())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._watcher.cancel()
        if self._gone and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise ClientGone from error

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass  # the rest of a body that nobody reads
        self._gone = True
        self._task.cancel()
