"""A real HTTP/1.1 server on a loopback port that answers, hangs or breaks as a script says.

async with ScriptedServer(status(500), json_answer({"evaluations": []})) as server:
    ...                                   # the n-th request gets the n-th step, later ones the last again
    assert len(server.requests) == 2
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Self

import orjson


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came: header names in lower case."""

    target: str
    headers: Mapping[str, str]
    body: bytes


Step = Callable[[Received, asyncio.StreamWriter], Awaitable[None]]


def answer(status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Step:
    """A whole answer; a JSON one, unless `headers` says otherwise."""
    fields = {"content-type": "application/json", "content-length": str(len(body))} | dict(headers or {})
    head = f"HTTP/1.1 {status} Answer\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())

    async def step(_received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head.encode() + b"\r\n" + body)

    return step


def json_answer(document: object) -> Step:
    """200 with a JSON body."""
    return answer(200, orjson.dumps(document))


async def hang(_received: Received, _writer: asyncio.StreamWriter) -> None:
    """No answer at all."""
    await asyncio.sleep(3_600)


async def reset(_received: Received, writer: asyncio.StreamWriter) -> None:
    """The connection breaks instead of an answer."""
    writer.transport.abort()


async def drip(_received: Received, writer: asyncio.StreamWriter) -> None:
    """An answer whose body comes so slowly, a byte at a time, that no read ever waits long."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n")
    while not writer.is_closing():
        writer.write(b" ")
        await asyncio.sleep(0.01)


class ScriptedServer:
    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.requests: list[Received] = []
        self.connections = 0
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        host, port = self._server.sockets[0].getsockname()
        return f"http://{host}:{port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        if self._connections:
            await asyncio.wait(self._connections)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                received = await _receive(reader)
                self.requests.append(received)
                step = self.steps[min(len(self.requests), len(self.steps)) - 1]
                await step(received, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client hung up, or the script did
        finally:
            writer.close()


async def _receive(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(first.split(" ")[1], headers, body)
