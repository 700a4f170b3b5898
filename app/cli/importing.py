"""`gctl import`."""

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sqlalchemy import select

from app.access.subject import is_subject
from app.access.workspaces import ensure_workspace
from app.cli.running import operator, read_settings
from app.importing import Outcome, count_documents, import_documents, read_documents, summary
from app.knowledge_bases import repository
from app.knowledge_bases.facts import IndexState, current_index, watched_index
from app.knowledge_bases.lifecycle import State, Work, shown_state
from app.knowledge_bases.upkeep import settle
from app.knowledge_bases.work import request_work
from app.models import IndexFailure, IndexMember, Source
from app.services import Services, open_services
from app.web.working import working

POLL_SECONDS = 0.2
COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


@click.command(name="import")
@click.argument("path", type=click.Path(exists=True, readable=True, path_type=Path))
@click.option("--workspace", default="default", show_default=True, help="The workspace's name; it is made if need be.")
@click.option("--owner", default="user:owner", show_default=True, help="The subject that owns what is added.")
@click.option("--knowledge-base", "base", help="Put all of it in this knowledge base; it is made and built if need be.")
@operator
async def import_documents_command(path: Path, workspace: str, owner: str, base: str | None) -> None:
    """Import a folder, a file, or a JSONL file (gzip or not) of documents with `id`, `body`, `title`, `description`.

    Run again it adds nothing twice: files that changed become new versions. What is skipped is listed, with the reason.
    """
    if not is_subject(owner):
        raise click.UsageError("--owner must be user:…, agent:… or group:….")
    console = Console(stderr=True)
    async with open_services(read_settings(quiet=True)) as services:
        async with services.database.write() as session:
            workspace_id = await ensure_workspace(session, workspace)
        with Progress(*COLUMNS, console=console, disable=not console.is_terminal) as bar:
            outcomes = await _import(services, workspace_id, owner, path, bar)
        _tell(outcomes, workspace)
        if base is not None:
            base_id = await _put_in_base(services, workspace_id, base, outcomes)
            with Progress(*COLUMNS, console=console, disable=not console.is_terminal) as bar:
                index = await _build(services, workspace_id, base_id, bar)
            click.echo(f"Knowledge base {base} ({base_id}) is {index.state}.")
            if index.state != State.READY:
                await _tell_failures(services, workspace_id, index.id)
                sys.exit(1)


async def _import(services: Services, workspace_id: UUID, owner: str, path: Path, bar: Progress) -> list[Outcome]:
    documents = read_documents(path, services.settings.max_file_bytes)
    task = bar.add_task("Importing", total=await asyncio.to_thread(count_documents, path))
    outcomes = []
    async for outcome in import_documents(services, workspace_id, owner, documents):
        outcomes.append(outcome)
        bar.advance(task)
    await settle(services.database, workspace_id, await _new_passages(services, workspace_id, outcomes))
    return outcomes


async def _new_passages(services: Services, workspace_id: UUID, outcomes: Sequence[Outcome]) -> int:
    new = {outcome.source_id for outcome in outcomes if outcome.what in ("added", "changed")}
    async with services.database.read() as session:
        members = IndexMember.workspace_id == workspace_id, IndexMember.index_id == workspace_id
        rows = await session.execute(select(IndexMember.source_id, IndexMember.passage_count).where(*members))
    return sum(count for source_id, count in rows if source_id in new)


def _tell(outcomes: Sequence[Outcome], workspace: str) -> None:
    for outcome in sorted(outcomes):
        if outcome.reason is not None:
            click.echo(f"{outcome.what} {outcome.external_id}: {outcome.reason}", err=True)
    click.echo(f"{summary(Counter(outcome.what for outcome in outcomes))} in workspace {workspace}")


async def _tell_failures(services: Services, workspace_id: UUID, index_id: UUID) -> None:
    failure = IndexFailure
    async with services.database.read() as session:
        rows = await session.execute(
            select(Source.title, failure.reason)
            .join(Source, (Source.workspace_id == failure.workspace_id) & (Source.id == failure.source_id))
            .where(failure.workspace_id == workspace_id, failure.index_id == index_id)
            .order_by(Source.title)
        )
    for title, reason in rows:
        click.echo(f"failed {title}: {reason}", err=True)


async def _put_in_base(services: Services, workspace_id: UUID, name: str, outcomes: Sequence[Outcome]) -> UUID:
    """The knowledge base of that name, with all that was imported in it."""
    source_ids = [outcome.source_id for outcome in outcomes if outcome.source_id is not None]
    async with services.database.write(patient=True) as session:
        found = await repository.find_knowledge_base_named(session, workspace_id, name)
        if found is None:
            return await repository.create_knowledge_base(
                session, workspace_id, name=name, description=None, auto_refresh=True, source_ids=source_ids
            )
        await repository.add_sources(session, workspace_id, found.id, source_ids)
        return found.id


async def _build(services: Services, workspace_id: UUID, base_id: UUID, bar: Progress) -> IndexState:
    """Bring the index up to date, here or in whatever worker claims it first; how it ends."""
    async with services.database.write() as session:
        index = await current_index(session, workspace_id, base_id)
        await request_work(session, workspace_id, base_id, Work.REBUILD if index is None else Work.REFRESH)
    task = bar.add_task("Indexing", total=None)
    async with working(services.worker):
        while True:
            async with services.database.read() as reading:
                index = await watched_index(reading, workspace_id, base_id)
            assert index is not None
            bar.update(task, completed=index.done, total=index.total or None)
            if shown_state(index.state, index.work) is not State.BUILDING:
                return index
            await asyncio.sleep(POLL_SECONDS)
