"""A token issuer's public keys: a JWK set behind an address (RFC 7517), fetched, kept and renewed."""

import asyncio
import logging
import time
from collections.abc import Callable

import httpx2
import orjson
from jwt import PyJWK

from app.access.outbound import bounded_body, outbound_client
from app.errors import Unavailable

ALGORITHMS = ("RS256", "ES256")
RENEW_SECONDS = 600.0
PAUSE_SECONDS = 60.0
COLD_PAUSE_SECONDS = 5.0
MAX_SET_BYTES = 500_000
MIN_RSA_BITS = 2048  # RFC 7518, 3.3

logger = logging.getLogger(__name__)


class SigningKeysUnavailable(Unavailable):
    """The issuer's keys could not be fetched, so nothing can be said about the token."""

    def __init__(self) -> None:
        super().__init__("The keys that verify tokens are not available. Try again.")


class SigningKeys:
    """The keys behind one address.

    They are renewed in the background every ten minutes, so that a withdrawn key stops counting, and at once for a
    key id that is not among them, so that a new key counts, but then at most once a minute: a flood of made-up key ids
    costs the issuer nothing. While the issuer is down, the known keys go on serving. All callers share one fetch.
    `clock` gives seconds that never run backwards; a fetch may take `fetch_seconds`.
    """

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic, fetch_seconds: float = 5.0) -> None:
        self._url = url
        self._clock = clock
        self._fetch_seconds = fetch_seconds
        self._client = outbound_client()
        self._keys: tuple[PyJWK, ...] = ()
        self._failed = False
        self._renew_at = self._pause_until = clock()
        self._fetch: asyncio.Task[None] | None = None

    async def find(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        """The one key that a token's header means, or None. Without a key id: the only key of that algorithm.

        Raises SigningKeysUnavailable when it is not among the known keys and the last fetch failed.
        """
        key = self._known(key_id, algorithm)
        if self._fetch is None and self._is_due(key):
            self._fetch = asyncio.create_task(self._renew())
        if key is None and self._fetch is not None:
            await asyncio.shield(self._fetch)  # a caller that gives up does not take the fetch from the others
            key = self._known(key_id, algorithm)
        if key is None and self._failed:
            raise SigningKeysUnavailable
        return key

    async def aclose(self) -> None:
        """Stop a fetch that is under way and close the connections."""
        if self._fetch is not None:
            self._fetch.cancel()
            await asyncio.wait([self._fetch])
        await self._client.aclose()

    def _known(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        found = [key for key in self._keys if key.algorithm_name == algorithm and key_id in (None, key.key_id)]
        return found[0] if len(found) == 1 else None

    def _is_due(self, key: PyJWK | None) -> bool:
        now = self._clock()
        return now >= self._pause_until and (key is None or now >= self._renew_at)

    async def _renew(self) -> None:
        try:
            async with asyncio.timeout(self._fetch_seconds):
                self._keys = _usable_keys(await self._download())
            self._failed = False
            self._renew_at = self._clock() + RENEW_SECONDS
        except Exception as error:  # whatever it was, the known keys go on serving
            self._failed = True
            logger.warning(
                "The signing keys could not be fetched: %s. Known keys: %d.", _reason(error), len(self._keys)
            )
        finally:
            self._pause_until = self._clock() + (PAUSE_SECONDS if self._keys else COLD_PAUSE_SECONDS)
            self._fetch = None

    async def _download(self) -> bytes:
        async with self._client.stream("GET", self._url) as response:
            if response.status_code != httpx2.codes.OK:
                raise ValueError(f"the address answered {response.status_code}")
            return await bounded_body(response, MAX_SET_BYTES)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else type(error).__name__


def _usable_keys(body: bytes) -> tuple[PyJWK, ...]:
    document = orjson.loads(body)
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ValueError("the answer is no JWK set")
    keys = tuple(key for entry in entries if (key := _usable_key(entry)) is not None)
    if not keys:
        raise ValueError("the JWK set holds no RS256 or ES256 key")
    return keys


def _usable_key(entry: object) -> PyJWK | None:
    """The key bound to the one algorithm of its type, so that no token's header can choose another; else None."""
    if not isinstance(entry, dict):
        return None
    match entry:
        case {"d": _}:
            return None  # a published private key proves nothing
        case {"kty": "RSA"}:
            algorithm = "RS256"
        case {"kty": "EC", "crv": "P-256"}:
            algorithm = "ES256"
        case _:
            return None
    if entry.get("use", "sig") != "sig" or entry.get("alg", algorithm) != algorithm:
        return None
    try:
        key = PyJWK(entry, algorithm)
        too_short = algorithm == "RS256" and key.key.key_size < MIN_RSA_BITS
    except Exception:  # one unreadable key does not cost the others
        return None
    return None if too_short else key
