"""`gctl knowledge-base build`."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from app.cli.client import call, ended, show
from app.cli.profile import Given, connected
from app.operations import find_operation

POLL_SECONDS = 0.5
# What brings an index in this state up to date. One that is being built needs nothing but time.
WORK = {None: "rebuild_index", "READY": "refresh_index", "STALE": "refresh_index", "FAILED": "repair_index"}


@click.command()
@click.argument("knowledge_base_id")
@click.option("--rebuild", is_flag=True, help="Build the index anew, whatever its state.")
@click.option("--watch", is_flag=True, help="Stay until it is done, with a progress bar on a terminal.")
@click.option("--output", type=click.Choice(["json", "table"]), help="[default: table on a terminal, else json]")
@connected
def build(knowledge_base_id: str, rebuild: bool, watch: bool, output: str | None, **given: Any) -> None:
    """Bring a knowledge base's index up to date: build it the first time, else refresh or repair it.

    Prints the index. With --watch an index that FAILED in the end is status 1.
    """
    asked = Given(**given)
    index = _index(asked, knowledge_base_id)
    state = None if index is None else index["state"]
    work = "rebuild_index" if rebuild else WORK.get(state)
    if work is not None:
        operation = find_operation(f"knowledge_base.{work}")
        index = call(asked, operation, {"knowledge_base_id": knowledge_base_id})["index"]
    assert index is not None
    if watch:
        index = _watched(asked, knowledge_base_id, index)
    show(index, output)
    if watch and index["state"] == "FAILED":
        message = "A source could not be read. Its name and why: knowledge-base knowledge-base, with_failures."
        raise ended(
            {
                "message": message,
                "code": "INDEX_NOT_READY",
                "retryable": False,
                "indexState": "FAILED",
                "remedy": "REPAIR",
            }
        )


def _index(asked: Given, knowledge_base_id: str) -> dict[str, Any] | None:
    operation = find_operation("knowledge_base.knowledge_base")
    index: dict[str, Any] | None = call(asked, operation, {"id": knowledge_base_id})["index"]
    return index


def _watched(asked: Given, knowledge_base_id: str, index: dict[str, Any]) -> dict[str, Any]:
    """The index as it is when it is not being built any more."""
    with _bar() as show_progress:
        while index["state"] == "BUILDING":
            show_progress(index["progress"])
            time.sleep(POLL_SECONDS)
            current = _index(asked, knowledge_base_id)
            assert current is not None
            index = current
        show_progress(index["progress"])
    return index


@contextmanager
def _bar() -> Iterator[Callable[[float], None]]:
    """Shows a share of 1 on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # late: only a person has use for it
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("Indexing", total=1.0)
        yield lambda share: progress.update(task, completed=share)
