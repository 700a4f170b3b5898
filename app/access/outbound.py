"""What the access layer's own HTTP calls share: one way to make a client, and a body that is read within a limit."""

import ssl
from collections.abc import Mapping
from contextlib import aclosing
from functools import cache

import httpx2

MAX_CONNECTIONS = 64

# A few compressed bytes can unfold to gigabytes, so compression is not asked for, and a body is never unfolded.
_PLAIN_JSON = {"accept": "application/json", "accept-encoding": "identity"}


class OversizeBodyError(Exception):
    """The answer's body went past the limit and was not read further."""


def outbound_client(headers: Mapping[str, str] | None = None) -> httpx2.AsyncClient:
    """A client for JSON that follows no redirect and has no time limit: the caller holds one over the whole call,
    the wait for a connection and the body included.
    """
    limits = httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS)
    return httpx2.AsyncClient(headers=_PLAIN_JSON | dict(headers or {}), verify=_tls(), limits=limits, timeout=None)


async def bounded_body(response: httpx2.Response, limit: int) -> bytes:
    """The body of a streamed response, at most `limit` bytes. Raises OversizeBodyError."""
    body = bytearray()
    async with aclosing(response.aiter_raw()) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) > limit:
                raise OversizeBodyError
    return bytes(body)


@cache
def _tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context()  # 30 ms, most of them for the list of authorities
