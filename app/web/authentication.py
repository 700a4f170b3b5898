"""Who sends a request: the bearer token of its Authorization header (RFC 6750, 2.1), and nothing else (SPEC R26)."""

import re
from collections.abc import Iterable

from starlette.types import Scope

from app.access.tokens import Identity, TokenVerifier
from app.errors import Unauthenticated

_BEARER = re.compile(r"(?i:bearer) +([A-Za-z0-9._~+/-]+=*)", re.ASCII)


class Authenticator:
    """Answers for an ASGI scope, `http` or `websocket`."""

    def __init__(self, verifier: TokenVerifier) -> None:
        self._verifier = verifier

    async def __call__(self, scope: Scope) -> Identity | None:
        """The verified caller, or None when the request has no Authorization header.

        Raises Unauthenticated for a header or a token that is wrong: a caller who tried to sign in is never taken for
        an anonymous one. Raises SigningKeysUnavailable as the verifier does.
        """
        token = bearer_token(scope["headers"])
        return None if token is None else await self._verifier.verify(token)


def bearer_token(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The token in ASGI headers; None when there is no Authorization header. Raises Unauthenticated."""
    values = [value for name, value in headers if name.lower() == b"authorization"]
    if not values:
        return None
    if len(values) > 1:
        raise Unauthenticated("The request has several Authorization headers.")
    return parse_bearer(values[0].decode("latin-1"))


def parse_bearer(value: str) -> str:
    """The token in an Authorization value, wherever it stands (a WebSocket sends it in its first message).

    Raises Unauthenticated.
    """
    match = _BEARER.fullmatch(value)
    if match is None:
        raise Unauthenticated("The Authorization header must be: Bearer, a space, the token.")
    return match[1]
