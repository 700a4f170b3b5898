"""The AuthZEN client (SPEC R12) and services that break: it tries again in time, or it fails. It never guesses."""

import asyncio
import logging
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from app.errors import AuthorizationUnavailable, AuthorizerMisconfigured
from tests.access.authzen_service import ADA, CREDENTIAL, allow_all, asking, ids
from tests.access.scripted_server import ScriptedServer, Step, answer, drip, hang, json_answer, reset


def errors(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno == logging.ERROR]


@pytest.mark.parametrize("first", [answer(500), answer(503), answer(408), answer(429), reset, hang, drip])
async def test_what_may_pass_is_tried_again(first: Step) -> None:
    async with ScriptedServer(first, allow_all) as server, asking(server.url) as authorizer:
        assert await authorizer.check(ADA, ids(2)) == [True, True]
        assert len(server.requests) == 2


@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize("always", [answer(500), answer(429), reset])
async def test_attempts_are_counted(always: Step, attempts: int) -> None:
    async with ScriptedServer(always) as server, asking(server.url, authzen_attempts=attempts) as authorizer:
        with pytest.raises(AuthorizationUnavailable) as caught:
            await authorizer.check(ADA, ids(1))
        assert caught.value.extensions == {"code": "AUTHORIZATION_UNAVAILABLE", "retryable": True}
        assert len(server.requests) == attempts


async def test_a_service_that_is_not_there_cannot_decide() -> None:
    async with ScriptedServer() as server:
        url = server.url
    async with asking(url) as authorizer:
        with pytest.raises(AuthorizationUnavailable) as caught:
            await authorizer.check(ADA, ids(1))
    assert caught.value.retryable is True


@pytest.mark.parametrize("slow", [hang, drip])
async def test_the_deadline_holds_over_everything(slow: Step, caplog: pytest.LogCaptureFixture) -> None:
    async with ScriptedServer(slow) as server, asking(server.url) as authorizer:
        started = time.monotonic()
        with pytest.raises(AuthorizationUnavailable):
            await authorizer.check(ADA, ids(1))
        assert 0.95 <= time.monotonic() - started < 1.5
        assert len(server.requests) == 2
    assert caplog.messages == ["The authorization service did not decide: it was too slow."]


@pytest.mark.parametrize("as_date", [False, True])
async def test_retry_after_is_honoured_when_it_fits(as_date: bool) -> None:
    in_two_seconds = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)  # whole seconds: 1 to 2
    value = in_two_seconds if as_date else "1"
    busy = answer(429, headers={"retry-after": value})
    async with ScriptedServer(busy, allow_all) as server, asking(server.url, authzen_timeout_seconds=4) as authorizer:
        started = time.monotonic()
        assert await authorizer.check(ADA, ids(1)) == [True]
        assert 0.9 <= time.monotonic() - started < 2.5
        assert len(server.requests) == 2


@pytest.mark.parametrize("value", ["1", "9" * 400, "Fri, 31 Dec 2999 23:59:59 GMT"])
async def test_retry_after_beyond_the_deadline_ends_it_at_once(value: str) -> None:
    async with ScriptedServer(answer(503, headers={"retry-after": value})) as server, asking(server.url) as authorizer:
        started = time.monotonic()
        with pytest.raises(AuthorizationUnavailable):
            await authorizer.check(ADA, ids(1))
        assert time.monotonic() - started < 0.8
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "value", ["soon", "-1", "1e3", "Fri, 99 Foo 2999 23:59:59 GMT", "", "Mon, 01 Jan 2001 00:00:00 -0000"]
)
async def test_a_retry_after_that_says_nothing_is_no_obstacle(value: str) -> None:
    busy = answer(503, headers={"retry-after": value})
    async with ScriptedServer(busy, allow_all) as server, asking(server.url) as authorizer:
        assert await authorizer.check(ADA, ids(1)) == [True]
        assert len(server.requests) == 2


YES, NO = {"decision": True}, {"decision": False}
UNEVALUATED = {"decision": False, "context": {"error": {"status": 500, "message": "no such attribute"}}}


@pytest.mark.parametrize(
    "nonsense",
    [
        answer(200, b"<html>sign in</html>", {"content-type": "text/html"}),
        answer(200, b'{"evaluations":[{"decision":true},{"decision":true}]}', {"content-type": "text/plain"}),
        answer(200, b"{"),
        answer(200, b'{"evaluations":[{"decision":true},{"decision":true}]} '.ljust(1_000_001)),
        answer(200, b"\x1f\x8b\x08", {"content-encoding": "gzip"}),
        answer(204),
        json_answer(None),
        json_answer([YES, YES]),
        json_answer({"decision": True}),
        json_answer({"evaluations": {"0": YES, "1": YES}}),
        json_answer({"evaluations": []}),
        json_answer({"evaluations": [YES]}),
        json_answer({"evaluations": [YES, YES, YES]}),
        json_answer({"evaluations": [YES, True]}),
        json_answer({"evaluations": [YES, {}]}),
        json_answer({"evaluations": [YES, {"decision": "true"}]}),
        json_answer({"evaluations": [YES, {"decision": 1}]}),
        json_answer({"evaluations": [YES, {"decision": None}]}),
        json_answer({"evaluations": [YES, UNEVALUATED]}),
        json_answer({"evaluations": [YES, UNEVALUATED | YES]}),
    ],
)
async def test_nonsense_is_neither_yes_nor_no(nonsense: Step, caplog: pytest.LogCaptureFixture) -> None:
    async with ScriptedServer(nonsense) as server, asking(server.url) as authorizer:
        with pytest.raises(AuthorizationUnavailable) as caught:
            await authorizer.check(ADA, ids(2))
        assert (type(caught.value), caught.value.retryable) == (AuthorizationUnavailable, True)
        assert len(server.requests) == 1
    (line,) = caplog.records
    assert (line.levelname, line.getMessage()[:44]) == ("WARNING", "The authorization service did not decide: it")


async def test_a_denial_may_give_a_reason() -> None:
    denial = {"decision": False, "context": {"reason_admin": {"en": "private"}, "error": None}}
    async with ScriptedServer(json_answer({"evaluations": [denial, YES]})) as server, asking(server.url) as authorizer:
        assert await authorizer.check(ADA, ids(2)) == [False, True]


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (400, "GCTL_AUTHZEN_BATCH_SIZE"),
        (401, "GCTL_AUTHZEN_TOKEN"),
        (403, "GCTL_AUTHZEN_TOKEN"),
        (404, "GCTL_AUTHZEN_URL"),
        (422, "GCTL_AUTHZEN_URL"),
        (302, "redirects"),
    ],
)
async def test_a_refusal_is_for_the_operator(status: int, remedy: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with ScriptedServer(allow_all) as elsewhere:
        refusal = answer(status, f"not with {CREDENTIAL}".encode(), {"location": f"{elsewhere.url}/access"})
        async with ScriptedServer(refusal) as server, asking(server.url, authzen_batch_size=1) as authorizer:
            with pytest.raises(AuthorizerMisconfigured) as caught:
                await authorizer.check(ADA, ids(1))
        assert (len(server.requests), elsewhere.requests) == (1, [])
    assert caught.value.extensions == {"code": "AUTHORIZATION_UNAVAILABLE", "retryable": False}
    assert caught.value.__context__ is None
    (line,) = errors(caplog)
    assert line.getMessage().startswith(f"The authorization service answered {status}. ")
    assert remedy in line.getMessage()
    assert CREDENTIAL not in caplog.text


async def test_one_refused_chunk_outweighs_the_others_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async with ScriptedServer(answer(401)) as server, asking(server.url, authzen_batch_size=10) as authorizer:
        with pytest.raises(AuthorizerMisconfigured):
            await authorizer.check(ADA, ids(100))
    assert len(errors(caplog)) == 1


async def test_one_broken_chunk_fails_the_whole_batch() -> None:
    mostly_honest = ScriptedServer(allow_all, allow_all, json_answer({"evaluations": []}))
    async with mostly_honest as server, asking(server.url) as authorizer:
        with pytest.raises(AuthorizationUnavailable):
            await authorizer.check(ADA, ids(120))


async def test_a_caller_that_gives_up_is_let_go() -> None:
    async with ScriptedServer(hang) as server, asking(server.url, authzen_timeout_seconds=30) as authorizer:
        check = asyncio.create_task(authorizer.check(ADA, ids(60)))
        for _ in range(500):
            if len(server.requests) == 2:
                break
            await asyncio.sleep(0.01)
        check.cancel()
        with pytest.raises(asyncio.CancelledError):
            await check


async def test_a_fault_of_the_client_is_no_decision(caplog: pytest.LogCaptureFixture) -> None:
    async with ScriptedServer(allow_all) as server, asking(server.url) as authorizer:
        await authorizer.aclose()
        with pytest.raises(AuthorizationUnavailable):
            await authorizer.check(ADA, ids(1))
    assert caplog.messages == ["The authorization service did not decide: RuntimeError."]
