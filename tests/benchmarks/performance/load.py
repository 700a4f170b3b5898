"""A small HTTP client: so many connections, each with one request under way, for so long or so often.

It costs about 0.1 ms of CPU a request, which a general client does not, and shares the machine with what it measures.
"""

import asyncio
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Call:
    """A request as it goes over the wire."""

    wire: bytes

    @classmethod
    def post(cls, path: str, body: bytes, token: str | None = None) -> "Call":
        lines = [
            f"POST {path} HTTP/1.1",
            "host: localhost",
            "content-type: application/json",
            "accept: application/json",
        ]
        lines += [f"content-length: {len(body)}"] + ([f"authorization: Bearer {token}"] if token else [])
        return cls("\r\n".join([*lines, "", ""]).encode() + body)


@dataclass
class Times:
    """How long each request took, in seconds, and how long all of them took together."""

    each: list[float] = field(default_factory=list)
    whole: float = 0.0

    def percentile(self, percent: float) -> float:
        """In milliseconds."""
        ordered = sorted(self.each)
        return 1_000 * ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


class Connection:
    """One connection that is kept open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> "Connection":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def send(self, call: Call) -> bytes:
        """The body of the answer. Raises RuntimeError unless it is 200 with a length."""
        self._writer.write(call.wire)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length: ")[2].partition(b"\r")[0]
        if not length:
            raise RuntimeError(head.decode("latin-1"))
        body = await self._reader.readexactly(int(length))
        if b" 200 " not in head[:15]:
            raise RuntimeError((head + body).decode("latin-1"))
        return body

    def close(self) -> None:
        self._writer.close()


async def ask(port: int, call: Call) -> bytes:
    """One request on a connection of its own; the body of the answer."""
    connection = await Connection.open(port)
    try:
        return await connection.send(call)
    finally:
        connection.close()


async def load(port: int, calls: Sequence[Call], *, clients: int, requests: int) -> Times:
    """Send the calls in turn, over and over, `requests` in all."""
    times = Times()
    pending = itertools.islice(itertools.cycle(calls), requests)
    connections = [await Connection.open(port) for _ in range(clients)]

    async def client(connection: Connection) -> None:
        for call in pending:
            started = time.perf_counter()
            await connection.send(call)
            times.each.append(time.perf_counter() - started)

    started = time.perf_counter()
    await asyncio.gather(*map(client, connections))
    times.whole = time.perf_counter() - started
    for connection in connections:
        connection.close()
    return times
