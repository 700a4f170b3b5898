"""`gctl`. Each command is imported when it is called: a client's command must not pay for the server's libraries."""

import importlib
import sys

import click

# Where each command is, and the one line that `gctl --help` says of it.
COMMANDS = {
    "serve": ("app.cli.serving:serve", "Run the server: GraphQL, GraphiQL and the worker."),
    "worker": ("app.cli.operating:worker", "Run a worker alone, beside any number of servers."),
    "migrate": ("app.cli.operating:migrate", "Bring the database to the tables that this version expects."),
    "token": ("app.cli.operating:token", "Print a token for a subject."),
    "grant": ("app.cli.operating:grant", "Let a subject do something: how the first manager comes to be."),
    "import": ("app.cli.importing:import_documents_command", "Import a folder or a JSONL file of documents."),
    "documents": ("app.cli.documents:documents", "Register the documents that front ends may name by their hash."),
    "login": ("app.cli.login:login", "Keep a server's address and a token for the commands below."),
    "logout": ("app.cli.login:logout", "Forget them."),
    "operations": ("app.cli.client:list_operations", "List what the three commands below, and agents, can do."),
    "library": ("app.cli.client:library", "Ask the Library, and manage its sources."),
    "knowledge-base": ("app.cli.client:knowledge_base", "See and manage knowledge bases and their indexes."),
    "access": ("app.cli.client:access", "See what you may do, and say what others may."),
    "mcp": ("app.cli.agents:mcp", "Serve agents over standard input and output, by way of the server."),
}


class Commands(click.Group):
    """A group that knows its commands by name and loads them late."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gctl")
def gctl() -> None:
    """Permission-aware retrieval over a knowledge base, as a GraphQL API."""


def main() -> None:
    """The console script. Exit status 2 for a wrong call, 1 for an error that was answered, else 0."""
    sys.exit(gctl(prog_name="gctl"))
