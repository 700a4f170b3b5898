"""Tokens as the product takes and makes them (SPEC R26), signed with a shared secret."""

import asyncio
import hmac
import json
import logging
import stat
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given
from hypothesis import strategies as st
from pydantic import HttpUrl, SecretStr, ValidationError

from app.access.tokens import Identity, TokenVerifier, issue, parse_duration, signing_secret
from app.errors import InvalidInput, Unauthenticated
from app.settings import Settings

HS256_KEY = "a secret of at least thirty-two bytes"
OTHER_KEY = "another secret of thirty-two bytes"
RSA_KEY = rsa.generate_private_key(65_537, 2_048)
HOUR = timedelta(hours=1)

shared = Settings(jwt_secret=SecretStr(HS256_KEY))


def claims(**changes: object) -> dict[str, Any]:
    """Good claims with `changes`; None takes a claim away."""
    now = int(time.time())
    good = {"sub": "user:ada", "workspace": "default", "groups": ["group:finance"], "iat": now, "exp": now + 3_600}
    return {name: value for name, value in (good | changes).items() if value is not None}


def signed(payload: dict[str, Any], secret: str = HS256_KEY) -> str:
    return jwt.encode(payload, secret, "HS256")


async def refusal(token: str, verifier: TokenVerifier) -> str:
    with pytest.raises(Unauthenticated) as caught:
        await verifier.verify(token)
    return caught.value.message


async def test_a_good_token_names_the_caller() -> None:
    payload = claims(groups=["group:finance", "group:legal", "group:legal"])
    assert await TokenVerifier(shared).verify(signed(payload)) == Identity(
        "user:ada", "default", frozenset({"group:finance", "group:legal"}), datetime.fromtimestamp(payload["exp"], UTC)
    )


async def test_groups_are_optional_and_agents_are_callers() -> None:
    identity = await TokenVerifier(shared).verify(signed(claims(sub="agent:bot", groups=None)))
    assert (identity.subject_id, identity.groups) == ("agent:bot", frozenset())


NO_CALLER = "The token's sub is neither user:… nor agent:…."
NO_GROUPS = "The token's groups are not a list of at most 200 group:…."


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"exp": 1}, "The token has expired."),
        ({"exp": None}, "The token has no exp."),
        ({"exp": "tomorrow"}, "The token's exp is no time."),
        ({"exp": True}, "The token's exp is no time."),
        ({"exp": 1e300}, "The token's exp is no time."),
        ({"exp": float("inf")}, "The token's exp is no time."),
        ({"nbf": time.time() + 600}, "The token is not valid yet."),
        ({"iat": time.time() + 600}, "The token is not valid yet."),
        ({"iat": "yesterday"}, "The token is malformed."),
        ({"sub": None}, NO_CALLER),
        ({"sub": 7}, NO_CALLER),
        ({"sub": "ada"}, NO_CALLER),
        ({"sub": "group:finance"}, NO_CALLER),
        ({"sub": "user:\ud800"}, NO_CALLER),
        ({"sub": "user:ada\u200b"}, NO_CALLER),
        ({"workspace": None}, "The token names no workspace."),
        ({"workspace": ""}, "The token's workspace is no name."),
        ({"workspace": "  "}, "The token's workspace is no name."),
        ({"workspace": "a\x00b"}, "The token's workspace is no name."),
        ({"workspace": "\ud800"}, "The token's workspace is no name."),
        ({"workspace": "w" * 201}, "The token's workspace is no name."),
        ({"workspace": ["default"]}, "The token's workspace is no name."),
        ({"groups": "group:finance"}, NO_GROUPS),
        ({"groups": ["finance"]}, NO_GROUPS),
        ({"groups": ["user:ada"]}, NO_GROUPS),
        ({"groups": [["group:finance"]]}, NO_GROUPS),
        ({"groups": [f"group:{n}" for n in range(201)]}, NO_GROUPS),
    ],
)
async def test_a_claim_that_is_wrong_is_named(changes: dict[str, object], message: str) -> None:
    assert await refusal(signed(claims(**changes)), TokenVerifier(shared)) == message


async def test_an_issuers_clock_may_run_a_little_ahead() -> None:
    ahead = int(time.time()) + 20
    assert (await TokenVerifier(shared).verify(signed(claims(iat=ahead, nbf=ahead)))).subject_id == "user:ada"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"aud": "gctl"}, "The token has no iss."),
        ({"iss": "https://other.example", "aud": "gctl"}, "The token comes from another issuer."),
        ({"iss": "https://issuer.example"}, "The token has no aud."),
        ({"iss": "https://issuer.example", "aud": ["mail"]}, "The token is meant for another audience."),
    ],
)
async def test_issuer_and_audience_count_when_they_are_set(changes: dict[str, object], message: str) -> None:
    strict = Settings(jwt_secret=SecretStr(HS256_KEY), jwt_issuer="https://issuer.example", jwt_audience="gctl")
    assert await refusal(signed(claims(**changes)), TokenVerifier(strict)) == message
    good = signed(claims(iss="https://issuer.example", aud=["mail", "gctl"]))
    assert (await TokenVerifier(strict).verify(good)).subject_id == "user:ada"


async def test_an_audience_is_ignored_when_none_is_set() -> None:
    assert (await TokenVerifier(shared).verify(signed(claims(aud="mail")))).subject_id == "user:ada"


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (signed(claims(), OTHER_KEY), "The token's signature does not match."),
        (jwt.encode(claims(), "", "none"), "The token is signed with an algorithm that is not accepted."),
        (jwt.encode(claims(), HS256_KEY * 2, "HS512"), "The token is signed with an algorithm that is not accepted."),
        (jwt.encode(claims(), RSA_KEY, "RS256"), "The token is signed with an algorithm that is not accepted."),
        ("", "The token is malformed."),
        ("a.b", "The token is malformed."),
        ("é.é.é", "The token is malformed."),
        ("e30.e30.e30", "The token is signed with an algorithm that is not accepted."),
        ("x" * 8_193, "The token is longer than 8,192 bytes."),
    ],
)
async def test_a_token_that_the_secret_did_not_sign_is_refused(token: str, message: str) -> None:
    assert await refusal(token, TokenVerifier(shared)) == message


TEXT = st.text(alphabet="a:\x00\ud800é \u200b", max_size=5) | st.sampled_from(["user:ada", "group:finance"])
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | TEXT, st.lists, max_leaves=5)
CLAIM_NAMES = st.sampled_from(["sub", "workspace", "groups", "exp", "nbf", "iat", "iss", "aud", "jti"])
HEADER_NAMES = st.sampled_from(["kid", "typ", "crit", "b64", "zip"])


@given(st.dictionaries(CLAIM_NAMES, JSON, max_size=2), st.dictionaries(HEADER_NAMES, JSON, max_size=1))
def test_no_claim_and_no_header_is_a_fault_of_ours(changes: dict[str, Any], header: dict[str, Any]) -> None:
    payload = claims() | changes
    parts = (jwt.utils.base64url_encode(json.dumps(part).encode()) for part in (header | {"alg": "HS256"}, payload))
    signing_input = b".".join(parts)
    signature = hmac.digest(HS256_KEY.encode(), signing_input, "sha256")
    token = f"{signing_input.decode()}.{jwt.utils.base64url_encode(signature).decode()}"
    try:
        identity = asyncio.run(TokenVerifier(shared).verify(token))
    except Unauthenticated:
        return
    assert (identity.subject_id, identity.workspace) == (payload["sub"], payload["workspace"])


async def test_nothing_of_a_token_is_said_or_logged(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    for token in (signed(claims(), OTHER_KEY), signed(claims(sub="mallory-sub")), "mallory-junk.x.y"):
        with pytest.raises(Unauthenticated) as caught:
            await TokenVerifier(shared).verify(token)
        assert caught.value.__context__ is None
        said = f"{caught.value!r} {caplog.text} {capfd.readouterr()}"
        assert not any(part in said for part in (*token.split("."), "mallory", HS256_KEY))


async def test_a_remembered_token_still_expires() -> None:
    now = time.time()
    verifier = TokenVerifier(shared, clock=lambda: now)
    token = signed(claims(exp=int(now) + 30))
    first = await verifier.verify(token)
    assert await verifier.verify(token) is first
    now += 31
    assert await refusal(token, verifier) == "The token has expired."


async def test_a_token_is_remembered_for_a_minute_and_among_1024() -> None:
    now = time.time()
    verifier = TokenVerifier(shared, clock=lambda: now)
    tokens = [signed(claims(sub=f"user:{n}")) for n in range(1_025)]
    first = await verifier.verify(tokens[0])
    now += 59
    assert await verifier.verify(tokens[0]) is first
    now += 2
    second = await verifier.verify(tokens[0])
    assert (second is first, second == first) == (False, True)
    for token in tokens[1:]:
        await verifier.verify(token)
    assert await verifier.verify(tokens[0]) is not second


def test_the_secret_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "new" / "folder")
    secret = signing_secret(settings)
    path = settings.data_dir / "secret"
    assert (len(secret), path.read_bytes(), signing_secret(settings)) == (43, secret, secret)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(settings.data_dir.iterdir()) == [path]


def test_processes_that_start_together_agree_on_the_secret(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from app.settings import Settings;"
        "from app.access.tokens import signing_secret; print('ready', flush=True); sys.stdin.readline();"
        "print([signing_secret(Settings(data_dir=Path(sys.argv[1], str(n)))) for n in range(100)])"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    racers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)]
    assert [racer.stdout and racer.stdout.readline() for racer in racers] == [b"ready\n"] * 3
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write(b"go\n")
        racer.stdin.flush()
    answers = {racer.communicate()[0].decode().strip() for racer in racers}
    assert answers == {str([(tmp_path / str(n) / "secret").read_bytes() for n in range(100)])}


@pytest.mark.parametrize("settings", [{"jwt_secret": SecretStr("short")}, {}])
def test_a_short_secret_is_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("short\n")
    with pytest.raises(InvalidInput, match="the signing secret must have at least 32 bytes"):
        TokenVerifier(Settings(data_dir=tmp_path, **settings))


@pytest.mark.parametrize(
    "settings",
    [shared, Settings(jwt_secret=SecretStr(HS256_KEY), jwt_issuer="https://issuer.example", jwt_audience="gctl")],
)
async def test_an_issued_token_is_accepted_until_it_expires(settings: Settings) -> None:
    before = time.time()
    token = issue(settings, "user:ada", "東京", ["group:legal", "group:finance", "group:legal"], HOUR)
    identity = await TokenVerifier(settings).verify(token)
    assert identity == Identity("user:ada", "東京", frozenset({"group:finance", "group:legal"}), identity.expires_at)
    assert 3_600 <= identity.expires_at.timestamp() - before < 3_602


async def test_a_token_for_a_second_is_good_at_once() -> None:
    token = issue(shared, "agent:bot", "default", [], timedelta(seconds=1))
    assert (await TokenVerifier(shared).verify(token)).subject_id == "agent:bot"


@pytest.mark.parametrize(
    ("subject", "workspace", "groups", "message"),
    [
        ("group:finance", "default", [], "subject: must be user:… or agent:…."),
        ("ada", "default", [], "subject: must be user:… or agent:…."),
        ("user:ada", "", [], "workspace: must be a name of 1 to 200 characters."),
        ("user:ada", "default", ["user:bob"], "group: must be group:…, at most 200 times."),
        (
            "user:ada",
            "default",
            [f"group:{n}{'g' * 100}" for n in range(100)],
            "group: these make a token of more than 8,192 bytes.",
        ),
    ],
)
def test_no_token_is_issued_that_would_be_refused(
    subject: str, workspace: str, groups: list[str], message: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        issue(shared, subject, workspace, groups, HOUR)
    assert caught.value.message == message


@pytest.mark.parametrize(("text", "seconds"), [("1s", 1), ("90m", 5_400), ("1h", 3_600), ("365d", 31_536_000)])
def test_a_duration_is_read(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "1", "h", "0s", "-1h", "1.5h", "1H", "1h ", "٣h", "366d", "99999999d", "9" * 5_000 + "s"]
)
def test_another_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_duration(text)
    assert caught.value.message == "ttl: must be like 90s, 15m, 1h or 30d, from 1 second to 365 days."


def test_a_secret_and_an_issuers_keys_exclude_each_other() -> None:
    with pytest.raises(ValidationError, match="GCTL_JWT_SECRET and GCTL_JWKS_URL are both set"):
        Settings(jwt_secret=SecretStr(HS256_KEY), jwks_url=HttpUrl("http://issuer.example/keys"))


def test_no_token_is_signed_where_an_issuer_signs_them() -> None:
    settings = Settings(jwks_url=HttpUrl("http://issuer.example/keys"))
    with pytest.raises(InvalidInput, match="jwks_url: tokens come from the issuer"):
        issue(settings, "user:ada", "default", [], HOUR)
