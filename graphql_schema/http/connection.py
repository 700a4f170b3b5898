"""An operation ends when its client does."""

import asyncio
from types import TracebackType

from starlette.types import Receive

from graphql_schema.http.requests import ClientGone

# Most operations are over before it: to watch a connection from the start costs each of them a task.
UNWATCHED_SECONDS = 0.01


class Connected:
    """`async with Connected(receive):` cancels what runs inside when the client goes, and raises ClientGone.

    It works as asyncio.timeout does: a watcher cancels this very task, and the cancellation that was ours becomes
    ClientGone on the way out. Any other (the server shuts down) passes. A client that leaves in the first
    UNWATCHED_SECONDS is missed at their end.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._gone = False
        self._watcher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("Connected needs a task")
        self._task = task
        self._cancelling = task.cancelling()
        self._timer = asyncio.get_running_loop().call_later(UNWATCHED_SECONDS, self._start)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()
        watcher, self._watcher = self._watcher, None  # kept, it and this would hold each other
        if watcher is not None:
            watcher.cancel()
        if self._gone and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise ClientGone from error

    def _start(self) -> None:
        self._watcher = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass  # the rest of a body that nobody reads
        self._gone = True
        self._task.cancel()
