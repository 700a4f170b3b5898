"""Every setting, command and error code has its heading in docs/."""

import re
from collections.abc import Iterator
from pathlib import Path

from app import errors
from app.cli import COMMANDS
from app.errors import AppError
from app.settings import Settings

DOCS = Path(__file__).parents[1] / "docs"


def _headings(page: str) -> list[str]:
    return re.findall(r"^#{2,4} `([^`]+)`", (DOCS / page).read_text(), re.MULTILINE)


def test_every_setting_has_its_heading_and_nothing_else_has_one() -> None:
    plain = {"database_url", "database_replica_urls"}
    names = {name.upper() if name in plain else f"GCTL_{name.upper()}" for name in Settings.model_fields}
    headings = _headings("settings.md")
    assert sorted(headings) == sorted(names)


def _codes(base: type[AppError]) -> Iterator[str]:
    for error in base.__subclasses__():
        yield error.code
        yield from _codes(error)


def test_every_error_code_has_its_heading_and_nothing_else_has_one() -> None:
    assert errors.__doc__ is not None
    assert sorted(_headings("errors.md")) == sorted({*_codes(AppError), "INTERNAL"})


def test_every_command_has_its_heading() -> None:
    assert {f"gctl {name}" for name in COMMANDS} <= set(_headings("cli.md"))
