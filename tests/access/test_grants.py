"""Giving and taking access: who may, what is refused, and what is listed (SPEC R1, R3, R4)."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from tests.access.filling import Draft, fill
from tests.world import Caller, RefusedError, World

OWNER = "user:owner"
ADA = "user:ada"
LIST = (
    "query ($id: ID!, $first: Int! = 100, $after: String) { source(id: $id) { grants(first: $first, after: $after) {"
    " nodes { subject action expiresAt } edges { cursor } pageInfo { hasNextPage endCursor } } } }"
)
ON_WORKSPACE = ["WORKSPACE_READ", "LIBRARY_READ", "LIBRARY_MANAGE"]
ON_SOURCE = ["SOURCE_READ", "SOURCE_DETAILS", "SOURCE_CONTENT"]


@dataclass
class Shelf:
    """An open and a private source of `user:owner`, who manages nothing else."""

    world: World
    open: str
    private: str

    async def grants(self, source_id: str, **page: Any) -> Any:
        return (await self.world.caller(OWNER).ask(LIST, id=source_id, **page))["source"]["grants"]

    async def held(self, source_id: str) -> list[tuple[str, str]]:
        return [(grant["subject"], grant["action"]) for grant in (await self.grants(source_id))["nodes"]]


@pytest_asyncio.fixture
async def shelf(world: World) -> AsyncIterator[Shelf]:
    open_, private = Draft("Ledger", "Quayside.", OWNER), Draft("Secret ledger", "Quayside.", OWNER, private=True)
    await fill(world.services, world.workspace_id, [open_, private])
    yield Shelf(world, str(open_.id), str(private.id))


async def grant(caller: Caller, action: str, source_id: str | None = None, to: str = ADA, **more: Any) -> Any:
    fields = {"subject": to, "action": action, "sourceId": source_id, **more}
    return await caller.change("grantAccess", "subject action expiresAt", **fields)


async def revoke(caller: Caller, action: str, source_id: str | None = None, of: str = ADA) -> Any:
    return await caller.change("revokeAccess", "subject action", subject=of, action=action, sourceId=source_id)


async def refusal(caller: Caller, mutation: str, **fields: Any) -> dict[str, Any]:
    with pytest.raises(RefusedError) as refused:
        await caller.change(mutation, "__typename", **fields)
    return refused.value.extensions


# Who may


@pytest.mark.parametrize("action", ON_SOURCE)
async def test_an_owner_and_a_manager_give_and_take_actions_on_a_source(shelf: Shelf, action: str) -> None:
    for caller in (shelf.world.caller(OWNER), shelf.world.manager):
        assert await grant(caller, action, shelf.open) == {"subject": ADA, "action": action, "expiresAt": None}
        assert await shelf.held(shelf.open) == [(ADA, action)]
        assert await revoke(caller, action, shelf.open) == {"subject": ADA, "action": action}
        assert await shelf.held(shelf.open) == []
    assert await shelf.held(shelf.private) == []


@pytest.mark.parametrize("action", ON_WORKSPACE)
async def test_a_manager_gives_and_takes_actions_on_the_workspace(shelf: Shelf, action: str) -> None:
    ada = shelf.world.caller(ADA, "group:crew")
    for to in (ADA, "group:crew"):
        await grant(shelf.world.manager, action, to=to)
        assert (await ada.ask("{ viewer { actions } }"))["viewer"]["actions"] == [action]
        await revoke(shelf.world.manager, action, of=to)
        assert (await ada.ask("{ viewer { actions } }"))["viewer"]["actions"] == []


@pytest.mark.parametrize("mutation", ["grantAccess", "revokeAccess"])
async def test_who_may_not_is_refused_and_changes_nothing(shelf: Shelf, mutation: str) -> None:
    await grant(shelf.world.caller(OWNER), "SOURCE_DETAILS", shelf.private)
    await grant(shelf.world.caller(OWNER), "SOURCE_READ", shelf.private, to="user:bob")
    ada, reader = shelf.world.caller(ADA), shelf.world.reader
    refusals = {
        "a reader, on a source": (reader, shelf.open, "SOURCE_READ", "FORBIDDEN"),
        "who sees details, on a private source": (ada, shelf.private, "SOURCE_READ", "FORBIDDEN"),
        "who reads a private source": (shelf.world.caller("user:bob"), shelf.private, "SOURCE_READ", "FORBIDDEN"),
        "a reader, on a private source": (reader, shelf.private, "SOURCE_READ", "NOT_FOUND"),
        "a manager, on a private source": (shelf.world.manager, shelf.private, "SOURCE_READ", "NOT_FOUND"),
        "nobody, on a source": (shelf.world.nobody, shelf.open, "SOURCE_READ", "NOT_FOUND"),
        "a reader, on the workspace": (reader, None, "LIBRARY_READ", "FORBIDDEN"),
        "an owner, on the workspace": (shelf.world.caller(OWNER), None, "LIBRARY_READ", "FORBIDDEN"),
        "nobody, on the workspace": (shelf.world.nobody, None, "LIBRARY_MANAGE", "FORBIDDEN"),
    }
    before = [await shelf.held(source_id) for source_id in (shelf.open, shelf.private)]
    for what, (caller, source_id, action, code) in refusals.items():
        for subject in (ADA, "user:bob", "user:nobody"):
            fields = {"subject": subject, "action": action, "sourceId": source_id}
            assert await refusal(caller, mutation, **fields) == {"code": code, "retryable": False}, what
    assert [await shelf.held(source_id) for source_id in (shelf.open, shelf.private)] == before
    for caller in (ada, shelf.world.nobody):
        assert (await caller.ask("{ viewer { actions } }"))["viewer"]["actions"] == []


async def test_a_manager_opens_no_private_source_that_it_cannot_read(shelf: Shelf) -> None:
    """R3: `library.manage` does not open a private source, not even by a detour."""
    owner, manager = shelf.world.caller(OWNER), shelf.world.manager
    await grant(owner, "SOURCE_DETAILS", shelf.private, to="user:manager")
    forbidden = {"code": "FORBIDDEN", "retryable": False}
    for action in ("SOURCE_READ", "SOURCE_CONTENT"):
        for subject in ("user:manager", ADA):
            fields = {"subject": subject, "action": action, "sourceId": shelf.private}
            assert await refusal(manager, "grantAccess", **fields) == forbidden
    assert await refusal(manager, "updateSource", id=shelf.private, private=False) == forbidden
    assert await shelf.held(shelf.private) == [("user:manager", "SOURCE_DETAILS")]
    assert await manager.titles("secret") == []
    # The rest of managing is a manager's.
    await manager.change("updateSource", "source { id }", id=shelf.private, title="Secret log", private=True)
    await grant(manager, "SOURCE_DETAILS", shelf.private)
    # Who may read it may open it.
    await grant(owner, "SOURCE_CONTENT", shelf.private, to="user:manager")
    assert await manager.titles("secret") == ["Secret log"]
    await grant(manager, "SOURCE_CONTENT", shelf.private)
    assert await shelf.world.caller(ADA).titles("secret") == ["Secret log"]
    await manager.change("updateSource", "source { id }", id=shelf.private, private=False)
    assert await shelf.world.reader.titles("secret") == ["Secret log"]


async def test_a_manager_who_closes_a_source_gets_an_answer_and_sees_it_no_more(shelf: Shelf) -> None:
    manager = shelf.world.manager
    changed = await manager.change("updateSource", "source { title private }", id=shelf.open, private=True)
    assert changed == {"source": {"title": "Ledger", "private": True}}
    assert (await refusal(manager, "updateSource", id=shelf.open, private=False))["code"] == "NOT_FOUND"


async def test_what_an_owner_has_by_owning_cannot_be_taken(shelf: Shelf) -> None:
    owner = shelf.world.caller(OWNER)
    for action in ON_SOURCE:
        await revoke(owner, action, shelf.private, of=OWNER)
        await grant(owner, action, shelf.private, to=OWNER)
        await revoke(owner, action, shelf.private, of=OWNER)
    assert await shelf.held(shelf.private) == []
    assert await owner.titles("secret") == ["Secret ledger"]
    await grant(owner, "SOURCE_READ", shelf.private)
    assert await shelf.held(shelf.private) == [(ADA, "SOURCE_READ")]


async def test_taking_what_was_never_given_is_no_error(shelf: Shelf) -> None:
    for action in ON_SOURCE:
        await revoke(shelf.world.caller(OWNER), action, shelf.open)
    for action in ON_WORKSPACE:
        await revoke(shelf.world.manager, action)


# What is no grant


@pytest.mark.parametrize(
    "expires_at",
    [
        pytest.param("2001-01-01T00:00:00Z", id="long past"),
        pytest.param((datetime.now(UTC) - timedelta(seconds=1)).isoformat(), id="just past"),
        pytest.param("2999-01-01T00:00:00", id="no time zone"),
        pytest.param("9999-12-31T23:59:59-12:00", id="beyond the year 9999"),
        pytest.param("0001-01-01T00:00:00+12:00", id="before the year 1"),
    ],
)
async def test_an_expiry_that_is_none_to_come_is_refused(shelf: Shelf, expires_at: str) -> None:
    for caller, action, source_id in (
        (shelf.world.caller(OWNER), "SOURCE_READ", shelf.open),
        (shelf.world.manager, "LIBRARY_READ", None),
    ):
        fields = {"subject": ADA, "action": action, "sourceId": source_id, "expiresAt": expires_at}
        assert await refusal(caller, "grantAccess", **fields) == {
            "code": "INVALID_INPUT", "retryable": False, "argument": "expiresAt",
        }  # fmt: skip
    assert await shelf.held(shelf.open) == []


@pytest.mark.parametrize("mutation", ["grantAccess", "revokeAccess"])
async def test_an_action_belongs_to_the_workspace_or_to_a_source(shelf: Shelf, mutation: str) -> None:
    pairs = [(action, shelf.open) for action in ON_WORKSPACE] + [(action, None) for action in ON_SOURCE]
    for action, source_id in pairs:
        fields = {"subject": ADA, "action": action, "sourceId": source_id}
        assert await refusal(shelf.world.manager, mutation, **fields) == {
            "code": "INVALID_INPUT", "retryable": False, "argument": "action",
        }  # fmt: skip
    assert await shelf.held(shelf.open) == []


NO_SUBJECTS = [
    *["", "ada", "user:", "group:", "User:ada", "role:ada", "user:a b", " user:ada", "user:ada\n", "user:" + "a" * 201],
    *["user:ada\u200b", "user:\u202eada", "user:a\u00a0b", "user:a\x00b"],
]


@pytest.mark.parametrize("mutation", ["grantAccess", "revokeAccess"])
async def test_a_subject_that_is_none_is_refused(shelf: Shelf, mutation: str) -> None:
    refused = {"code": "INVALID_INPUT", "retryable": False, "argument": "subject"}
    for subject in NO_SUBJECTS:
        fields = {"subject": subject, "action": "SOURCE_READ", "sourceId": shelf.open}
        assert await refusal(shelf.world.manager, mutation, **fields) == refused, subject


# What is listed


async def test_grants_are_listed_by_subject_and_action_a_page_at_a_time(shelf: Shelf) -> None:
    subjects = ["user:b", "user:B", "user:b!", "user:bb", "agent:b", "group:東京", "user:é", "user:o'{},\"\\%_"]
    for subject in subjects:
        for action in ("source.read", "source.details", "source.content"):
            await shelf.world.grant(subject, action, shelf.open)
    # By code points, whatever the database's locale is; actions by their names.
    by_name = [f"SOURCE_{name}" for name in ("CONTENT", "DETAILS", "READ")]
    expected = [(subject, action) for subject in sorted(subjects) for action in by_name]
    assert await shelf.held(shelf.open) == expected
    for first in (2, 5, 24):
        listed: list[tuple[str, str]] = []
        page: dict[str, Any] = {"hasNextPage": True, "endCursor": None}
        while page["hasNextPage"]:
            found = await shelf.grants(shelf.open, first=first, after=page["endCursor"])
            listed += [(grant["subject"], grant["action"]) for grant in found["nodes"]]
            page = found["pageInfo"]
        assert listed == expected, first


async def test_expired_and_revoked_grants_are_not_listed_and_the_last_expiry_counts(shelf: Shelf) -> None:
    owner = shelf.world.caller(OWNER)
    coming = "2999-01-01T00:00:00+00:00"
    given = await grant(owner, "SOURCE_READ", shelf.open, expiresAt="2999-01-01T01:00:00+01:00")
    assert datetime.fromisoformat(given["expiresAt"]) == datetime.fromisoformat(coming)
    listed = (await shelf.grants(shelf.open))["nodes"]
    assert listed == [{"subject": ADA, "action": "SOURCE_READ", "expiresAt": coming}]
    await grant(owner, "SOURCE_READ", shelf.open)
    assert [grant["expiresAt"] for grant in (await shelf.grants(shelf.open))["nodes"]] == [None]
    await grant(owner, "SOURCE_DETAILS", shelf.open)
    await revoke(owner, "SOURCE_READ", shelf.open)
    assert await shelf.held(shelf.open) == [(ADA, "SOURCE_DETAILS")]


async def test_a_cursor_that_is_none_is_refused(shelf: Shelf) -> None:
    for cursor in ("?", "AA=="):  # the second is NUL
        with pytest.raises(RefusedError) as refused:
            await shelf.grants(shelf.open, after=cursor)
        assert (refused.value.code, refused.value.extensions["argument"]) == ("INVALID_INPUT", "after")


async def test_grants_are_listed_to_who_manages_the_source_only(shelf: Shelf) -> None:
    await grant(shelf.world.caller(OWNER), "SOURCE_READ", shelf.open)
    assert (await shelf.world.manager.ask(LIST, id=shelf.open))["source"]["grants"]["nodes"] != []
    for caller in (shelf.world.reader, shelf.world.caller(ADA)):
        answer = (await caller.post(LIST, {"id": shelf.open})).json()
        assert answer["data"] == {"source": {"grants": None}}
        assert [error["extensions"]["code"] for error in answer["errors"]] == ["FORBIDDEN"]
