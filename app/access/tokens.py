"""Bearer tokens (SPEC R26): JWTs verified with a shared secret or an issuer's public keys, and issued for `gctl token`.

No message and no log line here holds any part of a token or of a key.
"""

import hashlib
import math
import os
import re
import secrets
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeGuard

import jwt

from app.access.signing_keys import ALGORITHMS, SigningKeys
from app.access.subject import is_subject
from app.errors import InvalidInput, Unauthenticated
from app.settings import Settings

MAX_TOKEN_BYTES = 8_192
MAX_GROUPS = 200
MAX_WORKSPACE_CHARACTERS = 200
MIN_SECRET_BYTES = 32  # RFC 7518, 3.2: a key of the hash's size or larger
CLOCK_SKEW_SECONDS = 30  # forgiven for nbf and iat, which an issuer's clock sets; never for exp
CACHED_TOKENS = 1_024
CACHED_SECONDS = 60.0

_DURATION = re.compile(r"([0-9]{1,8})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True, slots=True)
class Identity:
    """What a verified token says: the caller, the name of its workspace, its groups, and until when."""

    subject_id: str
    workspace: str
    groups: frozenset[str]
    expires_at: datetime


class TokenVerifier:
    """Verifies tokens as the settings say: RS256 and ES256 when `jwks_url` is set, otherwise HS256 and nothing else.

    A verified token is remembered for a minute, by its sha256: that costs 2 µs, verifying it 60 (HS256) to 130 (ES256).
    `clock` gives seconds since the epoch.
    """

    def __init__(
        self, settings: Settings, *, keys: SigningKeys | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        if keys is None and settings.jwks_url is not None:
            keys = SigningKeys(str(settings.jwks_url))
        self._keys = keys
        self._secret = signing_secret(settings) if keys is None else b""
        self._issuer = settings.jwt_issuer
        self._audience = settings.jwt_audience
        self._clock = clock
        self._verified: OrderedDict[bytes, tuple[Identity, float]] = OrderedDict()

    async def verify(self, token: str) -> Identity:
        """The token's identity. Raises Unauthenticated; SigningKeysUnavailable when the issuer's keys can't be had."""
        if len(token) > MAX_TOKEN_BYTES:
            raise Unauthenticated(f"The token is longer than {MAX_TOKEN_BYTES:,} bytes.")
        if not token.isascii():
            raise Unauthenticated(_MALFORMED)
        digest = hashlib.sha256(token.encode()).digest()
        identity = self._remembered(digest)
        if identity is None:
            identity = _identity(await self._claims(token))
            self._remember(digest, identity)
        if identity.expires_at.timestamp() <= self._clock():
            raise Unauthenticated("The token has expired.")
        return identity

    async def aclose(self) -> None:
        """Close the connection to the issuer of keys."""
        if self._keys is not None:
            await self._keys.aclose()

    async def _claims(self, token: str) -> dict[str, object]:
        try:
            if self._keys is None:
                return self._decode(token, self._secret, ["HS256"])
            return self._decode(token, await self._key(self._keys, token), ALGORITHMS)
        except jwt.PyJWTError as error:
            message = _message(error)
        raise Unauthenticated(message)  # out here it does not carry the library's error, which may quote the token

    async def _key(self, keys: SigningKeys, token: str) -> jwt.PyJWK:
        header = jwt.get_unverified_header(token)
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise jwt.InvalidAlgorithmError
        key = await keys.find(header.get("kid"), algorithm)
        if key is None:
            raise Unauthenticated("The token is signed with an unknown key.")
        return key

    def _decode(self, token: str, key: bytes | jwt.PyJWK, algorithms: Collection[str]) -> dict[str, object]:
        return jwt.decode(
            token,
            key,
            algorithms=list(algorithms),
            issuer=self._issuer,
            audience=self._audience,
            leeway=CLOCK_SKEW_SECONDS,
            options={
                "require": ["exp"],
                "verify_exp": False,  # verify() does, for remembered tokens too
                "verify_sub": False,  # _identity() does, more strictly
                "verify_aud": self._audience is not None,
            },
        )

    def _remembered(self, digest: bytes) -> Identity | None:
        identity, until = self._verified.get(digest, (None, 0.0))
        if identity is None or until <= self._clock():
            return None
        self._verified.move_to_end(digest)
        return identity

    def _remember(self, digest: bytes, identity: Identity) -> None:
        self._verified[digest] = identity, self._clock() + CACHED_SECONDS
        self._verified.move_to_end(digest)
        if len(self._verified) > CACHED_TOKENS:
            self._verified.popitem(last=False)


_MALFORMED = "The token is malformed."
_MESSAGES: dict[type[jwt.PyJWTError], str] = {
    jwt.ImmatureSignatureError: "The token is not valid yet.",
    jwt.InvalidAlgorithmError: "The token is signed with an algorithm that is not accepted.",
    jwt.InvalidAudienceError: "The token is meant for another audience.",
    jwt.InvalidIssuerError: "The token comes from another issuer.",
    jwt.InvalidSignatureError: "The token's signature does not match.",
}


def _message(error: jwt.PyJWTError) -> str:
    if isinstance(error, jwt.MissingRequiredClaimError):
        return f"The token has no {error.claim}."
    return _MESSAGES.get(type(error), _MALFORMED)


def _identity(claims: Mapping[str, object]) -> Identity:
    """The identity in verified claims. Raises Unauthenticated, naming the claim that is missing or wrong."""
    subject, workspace, groups = claims.get("sub"), claims.get("workspace"), claims.get("groups", [])
    if not _is_caller(subject):
        raise Unauthenticated("The token's sub is neither user:… nor agent:….")
    if workspace is None:
        raise Unauthenticated("The token names no workspace.")
    if not _is_workspace(workspace):
        raise Unauthenticated("The token's workspace is no name.")
    if not _are_groups(groups):
        raise Unauthenticated(f"The token's groups are not a list of at most {MAX_GROUPS} group:….")
    return Identity(subject, workspace, frozenset(groups), _moment(claims["exp"]))


def _moment(seconds: object) -> datetime:
    try:
        if isinstance(seconds, int | float) and not isinstance(seconds, bool):
            return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        pass  # beyond what a datetime can hold
    raise Unauthenticated("The token's exp is no time.")


def _is_caller(value: object) -> TypeGuard[str]:
    return _is_named_subject(value) and not value.startswith("group:")


def _is_named_subject(value: object) -> TypeGuard[str]:
    # Printable: an id with invisible characters can pass for another, and a lone surrogate is no text at all.
    return isinstance(value, str) and value.isprintable() and is_subject(value)


def _is_workspace(value: object) -> TypeGuard[str]:
    if not isinstance(value, str) or len(value) > MAX_WORKSPACE_CHARACTERS:
        return False
    return value.isprintable() and bool(value.strip())


def _are_groups(value: object) -> TypeGuard[list[str]]:
    if not isinstance(value, list) or len(value) > MAX_GROUPS:
        return False
    return all(_is_named_subject(group) and group.startswith("group:") for group in value)


def signing_secret(settings: Settings) -> bytes:
    """The HS256 secret: `jwt_secret`, or the one in `data_dir/secret`, which is made the first time.

    Raises InvalidInput when either is shorter than 32 bytes.
    """
    if settings.jwt_secret is not None:
        secret, name = settings.jwt_secret.get_secret_value().encode(), "jwt_secret"
    else:
        secret, name = _kept_secret(settings.data_dir), "data_dir"
    if len(secret) < MIN_SECRET_BYTES:
        raise InvalidInput(name, f"the signing secret must have at least {MIN_SECRET_BYTES} bytes.")
    return secret


def _kept_secret(folder: Path) -> bytes:
    path = folder / "secret"
    if not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(dir=folder, prefix=".secret-")  # mode 0600
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_urlsafe(MIN_SECRET_BYTES))
            # A link appears whole and replaces nothing: of two processes that start together, both keep the first.
            with suppress(FileExistsError):
                path.hardlink_to(draft)
        finally:
            Path(draft).unlink()
    return path.read_bytes().strip()


def issue(settings: Settings, subject: str, workspace: str, groups: Collection[str], ttl: timedelta) -> str:
    """A token signed with the settings' secret, which their TokenVerifier accepts for `ttl`.

    Raises InvalidInput, also when tokens come from an issuer of their own (`jwks_url`).
    """
    if settings.jwks_url is not None:
        raise InvalidInput("jwks_url", "tokens come from the issuer whose keys are there; none can be made here.")
    if not _is_caller(subject):
        raise InvalidInput("subject", "must be user:… or agent:….")
    if not _is_workspace(workspace):
        raise InvalidInput("workspace", f"must be a name of 1 to {MAX_WORKSPACE_CHARACTERS} characters.")
    if not _are_groups(list(groups)):
        raise InvalidInput("group", f"must be group:…, at most {MAX_GROUPS} times.")
    now = time.time()
    claims = {"sub": subject, "workspace": workspace, "groups": sorted(set(groups)), "iat": int(now)}
    claims |= {"exp": math.ceil(now + ttl.total_seconds())}
    claims |= {name: value for name, value in (("iss", settings.jwt_issuer), ("aud", settings.jwt_audience)) if value}
    token = jwt.encode(claims, signing_secret(settings), "HS256")
    if len(token) > MAX_TOKEN_BYTES:
        raise InvalidInput("group", f"these make a token of more than {MAX_TOKEN_BYTES:,} bytes.")
    return token


def parse_duration(text: str) -> timedelta:
    """`90s`, `15m`, `1h` or `30d`, from 1 second to 365 days. Raises InvalidInput (argument `ttl`)."""
    parts = _DURATION.fullmatch(text)
    duration = timedelta(**{_UNITS[parts[2]]: int(parts[1])}) if parts else timedelta()
    if not timedelta(seconds=1) <= duration <= timedelta(days=365):
        raise InvalidInput("ttl", "must be like 90s, 15m, 1h or 30d, from 1 second to 365 days.")
    return duration
