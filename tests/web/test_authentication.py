"""The Authorization header, from an ASGI scope to an identity (SPEC R26)."""

from datetime import timedelta

import pytest
from pydantic import SecretStr

from app.access.tokens import TokenVerifier, issue
from app.errors import Unauthenticated
from app.settings import Settings
from app.web.authentication import Authenticator, bearer_token, parse_bearer

settings = Settings(jwt_secret=SecretStr("a secret of at least thirty-two bytes"))
token = issue(settings, "user:ada", "default", ["group:finance"], timedelta(hours=1))
authenticate = Authenticator(TokenVerifier(settings))

SEVERAL = "The request has several Authorization headers."
WRONG = "The Authorization header must be: Bearer, a space, the token."


@pytest.mark.parametrize("kind", ["http", "websocket"])
async def test_a_bearer_token_names_the_caller(kind: str) -> None:
    scope = {"type": kind, "headers": [(b"host", b"x"), (b"authorization", f"Bearer {token}".encode())]}
    identity = await authenticate(scope)
    assert identity is not None
    assert (identity.subject_id, identity.workspace, identity.groups) == (
        "user:ada",
        "default",
        frozenset({"group:finance"}),
    )


async def test_no_header_is_anonymous_even_with_a_token_in_the_query() -> None:
    query = f"access_token={token}&authorization=Bearer%20{token}".encode()
    assert await authenticate({"type": "http", "headers": [(b"cookie", b"a=b")], "query_string": query}) is None


async def test_a_wrong_token_is_not_anonymous() -> None:
    with pytest.raises(Unauthenticated, match="signature does not match"):
        await authenticate({"type": "http", "headers": [(b"authorization", f"Bearer {token[:-4]}AAAA".encode())]})


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR  "])
def test_the_scheme_is_read_in_any_case(scheme: str) -> None:
    assert bearer_token([(b"Authorization", f"{scheme} a.b-c_d~e+f/g==".encode())]) == "a.b-c_d~e+f/g=="


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        token,
        "Bearer a b",
        "Bearer a,Bearer b",
        "Bearer a\x00",
        "Bearer\ta",
        "Bearer é",
        "Bearer =",
        "xBearer a",
        "Bearer a\n",
        "Token a",
        "ſbearer a",
    ],
)
def test_another_header_is_refused(value: str) -> None:
    with pytest.raises(Unauthenticated) as caught:
        bearer_token([(b"authorization", value.encode())])
    assert caught.value.message == WRONG
    with pytest.raises(Unauthenticated) as caught:
        parse_bearer(value)
    assert caught.value.message == WRONG


def test_two_headers_are_refused_even_when_equal() -> None:
    with pytest.raises(Unauthenticated) as caught:
        bearer_token([(b"authorization", b"Bearer a"), (b"Authorization", b"Bearer a")])
    assert caught.value.message == SEVERAL
