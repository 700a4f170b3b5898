"""Tokens that an issuer of its own signs (SPEC R26): its keys come from a real server, and rotate, and fail to come."""

import asyncio
import hmac
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pydantic import HttpUrl

from app.access.signing_keys import SigningKeys, SigningKeysUnavailable
from app.access.tokens import Identity, TokenVerifier
from app.errors import Unauthenticated
from app.settings import Settings
from tests.access.scripted_server import ScriptedServer, Step, answer, drip, hang, json_answer, reset

RSA_KEY = rsa.generate_private_key(65_537, 2_048)
NEW_RSA_KEY = rsa.generate_private_key(65_537, 2_048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
UNKNOWN_KEY = "The token is signed with an unknown key."
NOT_ACCEPTED = "The token is signed with an algorithm that is not accepted."


def claims(**changes: object) -> dict[str, Any]:
    return {"sub": "user:ada", "workspace": "default", "exp": int(time.time()) + 3_600} | changes


async def refusal(token: str, verifier: TokenVerifier) -> str:
    with pytest.raises(Unauthenticated) as caught:
        await verifier.verify(token)
    return caught.value.message


async def soon(condition: Callable[[], Awaitable[bool]]) -> None:
    """Returns when the condition holds; fails after five seconds."""
    for _ in range(500):
        if await condition():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError


def public(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, **members: object) -> dict[str, Any]:
    if isinstance(key, rsa.RSAPrivateKey):
        return jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True) | members
    return jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True) | members


def key_set(*keys: object) -> Step:
    return json_answer({"keys": list(keys)})


def rs256(key_id: str | None = "old", key: rsa.RSAPrivateKey = RSA_KEY, **changes: object) -> str:
    return jwt.encode(claims(**changes), key, "RS256", headers={"kid": key_id} if key_id else None)


OLD, NEW, CURVE = public(RSA_KEY, kid="old"), public(NEW_RSA_KEY, kid="new"), public(EC_KEY, kid="curve")


class Clock:
    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


@asynccontextmanager
async def verifying(server: ScriptedServer, clock: Callable[[], float] | None = None) -> AsyncIterator[TokenVerifier]:
    url = f"{server.url}/keys"
    keys = SigningKeys(url, clock) if clock else None
    verifier = TokenVerifier(Settings(jwks_url=HttpUrl(url)), keys=keys)
    try:
        yield verifier
    finally:
        await verifier.aclose()


async def test_rs256_and_es256_by_the_issuers_keys() -> None:
    async with ScriptedServer(key_set(OLD, CURVE)) as server, verifying(server) as verifier:
        assert (await verifier.verify(rs256())).subject_id == "user:ada"
        by_curve = jwt.encode(claims(sub="agent:bot"), EC_KEY, "ES256", headers={"kid": "curve"})
        assert (await verifier.verify(by_curve)).subject_id == "agent:bot"
        assert [request.target for request in server.requests] == ["/keys"]


async def test_without_a_key_id_the_only_key_of_the_algorithm_is_meant() -> None:
    async with ScriptedServer(key_set(OLD, CURVE)) as server, verifying(server) as verifier:
        assert (await verifier.verify(rs256(None))).subject_id == "user:ada"
    async with ScriptedServer(key_set(OLD, NEW)) as server, verifying(server) as verifier:
        assert await refusal(rs256(None), verifier) == UNKNOWN_KEY


def hs256_by_public_key() -> str:
    """The classic forgery: the public key, which all may know, used as the shared secret."""
    pem = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    parts = (
        jwt.utils.base64url_encode(json.dumps(part).encode()) for part in ({"alg": "HS256", "kid": "old"}, claims())
    )
    signing_input = b".".join(parts)
    signature = jwt.utils.base64url_encode(hmac.digest(pem, signing_input, "sha256"))
    return (signing_input + b"." + signature).decode()


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (hs256_by_public_key(), NOT_ACCEPTED),
        (jwt.encode(claims(), "a secret of at least thirty-two bytes", "HS256"), NOT_ACCEPTED),
        (jwt.encode(claims(), "", "none"), NOT_ACCEPTED),
        (
            jwt.encode(claims(), RSA_KEY, "PS256", headers={"kid": "old"}),
            NOT_ACCEPTED,
        ),
        (jwt.encode(claims(), EC_KEY, "ES256", headers={"kid": "old"}), UNKNOWN_KEY),
        (rs256("old", NEW_RSA_KEY), "The token's signature does not match."),
        (rs256(exp=1), "The token has expired."),
    ],
)
async def test_a_forged_or_stale_token_is_refused(token: str, message: str) -> None:
    async with ScriptedServer(key_set(OLD, CURVE)) as server, verifying(server) as verifier:
        assert await refusal(token, verifier) == message


@pytest.mark.parametrize(
    "useless",
    [
        public(NEW_RSA_KEY, kid="new", use="enc"),
        public(NEW_RSA_KEY, kid="new", alg="RS512"),
        public(NEW_RSA_KEY, kid="new", n=7),
        jwt.algorithms.RSAAlgorithm.to_jwk(NEW_RSA_KEY, as_dict=True) | {"kid": "new"},
        public(rsa.generate_private_key(65_537, 1_024), kid="new"),  # noqa: S505 - which is why it is refused
        {"kty": "oct", "k": "c2VjcmV0", "kid": "new"},
        {"kty": ["RSA"], "kid": "new"},
        "new",
    ],
)
async def test_a_key_that_is_no_good_counts_for_nothing_and_costs_the_others_nothing(useless: object) -> None:
    async with ScriptedServer(key_set(useless, OLD)) as server, verifying(server) as verifier:
        assert await refusal(rs256("new", NEW_RSA_KEY), verifier) == UNKNOWN_KEY
        assert (await verifier.verify(rs256())).subject_id == "user:ada"


async def test_a_rotated_key_is_found_and_a_withdrawn_one_stops_counting() -> None:
    clock = Clock()
    async with ScriptedServer(key_set(OLD), key_set(NEW)) as server, verifying(server, clock) as verifier:
        await verifier.verify(rs256())
        clock.seconds += 61
        assert (await verifier.verify(rs256("new", NEW_RSA_KEY))).subject_id == "user:ada"
        assert await refusal(rs256(sub="user:bob"), verifier) == UNKNOWN_KEY
        assert len(server.requests) == 2


async def test_known_keys_are_renewed_in_the_background() -> None:
    clock = Clock()
    async with ScriptedServer(key_set(OLD), key_set(NEW)) as server:
        keys = SigningKeys(server.url, clock)
        assert await keys.find("old", "RS256") is not None
        clock.seconds += 601
        assert await keys.find("old", "RS256") is not None

        async def withdrawn() -> bool:
            return await keys.find("old", "RS256") is None

        await soon(withdrawn)
        assert len(server.requests) == 2
        await keys.aclose()


async def test_a_flood_of_unknown_key_ids_costs_one_fetch_a_minute() -> None:
    clock = Clock()
    async with ScriptedServer(key_set(OLD)) as server, verifying(server, clock) as verifier:
        for fetches in (1, 2, 3):
            flood = [verifier.verify(rs256(f"made-up-{fetches}-{n}")) for n in range(50)]
            refused = await asyncio.gather(*flood, return_exceptions=True)
            assert {str(error) for error in refused} == {UNKNOWN_KEY}
            assert len(server.requests) == fetches
            clock.seconds += 59
            assert await refusal(rs256("made-up"), verifier) == UNKNOWN_KEY
            assert len(server.requests) == fetches
            clock.seconds += 2


async def test_concurrent_callers_share_one_fetch_and_one_may_give_up() -> None:
    async with ScriptedServer(key_set(OLD)) as server, verifying(server) as verifier:
        callers = [asyncio.create_task(verifier.verify(rs256(sub=f"user:{n}"))) for n in range(20)]
        await asyncio.sleep(0)
        callers[0].cancel()
        answers = await asyncio.gather(*callers, return_exceptions=True)
        assert isinstance(answers[0], asyncio.CancelledError)
        assert [a.subject_id for a in answers[1:] if isinstance(a, Identity)] == [f"user:{n}" for n in range(1, 20)]
        assert len(server.requests) == 1


BROKEN = [
    answer(500),
    answer(302, headers={"location": "/elsewhere"}),
    reset,
    answer(200, b"<html>"),
    json_answer([]),
    json_answer({"keys": {}}),
    key_set(),
    answer(200, b" " * 500_001),
]


@pytest.mark.parametrize("broken", BROKEN)
async def test_with_no_keys_at_all_a_token_can_be_tried_again(broken: Step, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    async with ScriptedServer(broken, key_set(OLD)) as server, verifying(server, clock) as verifier:
        for _ in range(3):
            with pytest.raises(SigningKeysUnavailable) as caught:
                await verifier.verify(rs256())
        assert caught.value.extensions == {"code": "UNAVAILABLE", "retryable": True}
        assert caught.value.message == "The keys that verify tokens are not available. Try again."
        assert len(server.requests) == len(caplog.records) == 1
        clock.seconds += 6
        assert (await verifier.verify(rs256())).subject_id == "user:ada"


@pytest.mark.parametrize("broken", BROKEN)
async def test_known_keys_serve_on_while_the_issuer_is_broken(broken: Step) -> None:
    clock = Clock()
    async with ScriptedServer(key_set(OLD), broken) as server, verifying(server, clock) as verifier:
        await verifier.verify(rs256())
        clock.seconds += 601
        with pytest.raises(SigningKeysUnavailable):
            await verifier.verify(rs256("new", NEW_RSA_KEY))
        assert (await verifier.verify(rs256(sub="user:bob"))).subject_id == "user:bob"
        assert len(server.requests) == 2


@pytest.mark.parametrize("slow", [hang, drip])
async def test_a_slow_issuer_is_not_waited_for_long(slow: Step) -> None:
    async with ScriptedServer(slow) as server:
        keys = SigningKeys(server.url, fetch_seconds=0.1)
        started = time.monotonic()
        with pytest.raises(SigningKeysUnavailable):
            await keys.find("old", "RS256")
        assert 0.1 <= time.monotonic() - started < 1
        await keys.aclose()


async def test_closing_stops_a_fetch_under_way() -> None:
    async with ScriptedServer(hang) as server:
        keys = SigningKeys(server.url)
        waiting = asyncio.create_task(keys.find("old", "RS256"))

        async def asked() -> bool:
            return len(server.requests) == 1

        await soon(asked)
        await keys.aclose()
        with pytest.raises(asyncio.CancelledError):
            await waiting
