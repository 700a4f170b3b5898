"""Operators' commands on the database that the settings name. They ask nobody's permission."""

import asyncio
import signal

import click

from app.access.grants import Action
from app.access.grants import grant as give
from app.access.tokens import issue, parse_duration
from app.access.workspaces import ensure_workspace
from app.cli.running import operator, read_settings
from app.embedded import running
from app.errors import NotFound
from app.inputs import parse_id
from app.library.sources import source_exists
from app.migrating import migrate as run_migrations
from app.services import database_url, open_services
from app.web.working import working


@click.command()
@operator
async def migrate() -> None:
    """Bring the database to the tables that this version expects. Safe to repeat, and on a live database."""
    settings = read_settings(quiet=True)
    if settings.embedded:
        with running(settings.data_dir) as url:
            before, after = await run_migrations(url)
    else:
        before, after = await run_migrations(database_url(settings))
    click.echo(f"The database is at {after}." if before == after else f"Migrated from {before or 'empty'} to {after}.")


@click.command()
@operator
async def worker() -> None:
    """Run a worker alone: it reads new versions, builds indexes and purges what was deleted. Stops on SIGTERM."""
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    async with open_services(read_settings()) as services, working(services.worker):
        await stop.wait()


@click.command()
@click.option("--subject", required=True, help="user:… or agent:…")
@click.option("--workspace", default="default", show_default=True, help="The workspace's name; it is made if need be.")
@click.option("--group", "groups", multiple=True, help="group:…, as often as needed.")
@click.option("--ttl", default="1h", show_default=True, help="How long it is good: a number and s, m, h or d.")
@operator
async def token(subject: str, workspace: str, groups: tuple[str, ...], ttl: str) -> None:
    """Print a token for a subject, alone on standard output."""
    settings = read_settings(quiet=True)
    signed = issue(settings, subject, workspace, groups, parse_duration(ttl))
    async with open_services(settings) as services, services.database.write() as session:
        await ensure_workspace(session, workspace)
    click.echo(signed)


@click.command()
@click.option("--subject", required=True, help="user:…, agent:… or group:…")
@click.option("--action", required=True, type=click.Choice([action.value for action in Action]))
@click.option("--workspace", default="default", show_default=True, help="The workspace's name; it is made if need be.")
@click.option("--source", help="The source's id, for source.… actions.")
@operator
async def grant(subject: str, action: str, workspace: str, source: str | None) -> None:
    """Let a subject do something, until it is revoked."""
    source_id = None if source is None else parse_id("--source", source)
    async with open_services(read_settings(quiet=True)) as services, services.database.write() as session:
        workspace_id = await ensure_workspace(session, workspace)
        if source_id is not None and not await source_exists(session, workspace_id, source_id):
            raise NotFound("source")
        await give(session, workspace_id, subject, Action(action), source_id)
    click.echo(f"{subject} holds {action} on {'the workspace ' + workspace if source is None else source}.")
