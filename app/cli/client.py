"""`gctl library …`, `gctl knowledge-base …`, `gctl access …`: every operation of the schema as a command.

Nothing is written down for a single operation: names, help and what a body may hold come from app.operations. These
commands start in a third of a second of CPU: what is slow to import is imported when it is needed.
"""

import importlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from app.cli.profile import Given, connection_options, find_connection
from app.errors import InvalidInput
from app.operations import Operation, operations

# Commands beside the operations of a room: where each is, and what the room's help says of it.
BESIDE = {
    "knowledge_base": {
        "build": ("app.cli.building:build", "Bring an index up to date, whatever that takes, and watch it."),
    }
}

TITLES = {
    "library": "Ask the Library, and manage its sources.",
    "knowledge_base": "See and manage knowledge bases and their indexes.",
    "access": "See what you may do, and say what others may.",
}


SIGN_IN = "No token was sent. Give one with GCTL_TOKEN or gctl login; on the server's own machine, --subject makes one."


def in_command_line(name: str) -> str:
    """`add_source` as a command is called."""
    return name.replace("_", "-")


class Room(click.Group):
    """The operations of one room."""

    def __init__(self, name: str) -> None:
        super().__init__(in_command_line(name), help=TITLES[name])
        self._beside = BESIDE.get(name, {})
        self._operations = {in_command_line(each.verb): each for each in operations().values() if each.room == name}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click's signature
        return [*self._operations, *self._beside]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in self._operations:
            return OperationCommand(self._operations[cmd_name])
        if cmd_name not in self._beside:
            return None
        module, _, name = self._beside[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command


class OperationCommand(click.Command):
    """One operation: its body in, its answer out."""

    def __init__(self, operation: Operation) -> None:
        options: list[click.Parameter] = [
            click.Option(
                ["--body"],
                metavar="JSON",
                help="A JSON object; a file with one: @path, or a path that ends in .json; - for standard input.",
            ),
            click.Option(
                ["--output"],
                type=click.Choice(["json", "table"]),
                help="How to print the answer [default: table on a terminal, else json].",
            ),
        ]
        super().__init__(
            in_command_line(operation.verb),
            params=[*options, *connection_options()],
            callback=self._run,
            help=operation.description,
            short_help=operation.description,
        )
        self._operation = operation

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        if rows := list(_fields(self._operation.input_schema)):
            with formatter.section("The body's fields"):
                formatter.write_dl(rows)

    def _run(self, body: str | None, output: str | None, **given: Any) -> None:
        content = read_body(body)
        try:
            self._operation.variables(content)
        except InvalidInput as error:
            raise click.UsageError(f"--body: {error.message}") from None
        show(call(Given(**given), self._operation, content), output)


library = Room("library")
knowledge_base = Room("knowledge_base")
access = Room("access")


@click.command(name="operations")
@click.option("--output", type=click.Choice(["json", "table"]), help="[default: table on a terminal, else json]")
def list_operations(output: str | None) -> None:
    """List all operations: the commands of library, knowledge-base and access, and what agents can call."""
    listed = operations().values()
    if _as_json(output):
        click.echo(json.dumps([{"name": o.name, "kind": o.kind, "description": o.description} for o in listed]))
        return
    formatter = click.HelpFormatter()
    formatter.write_dl([(o.name, o.description if o.kind == "read" else f"(writes) {o.description}") for o in listed])
    click.echo(formatter.getvalue().rstrip())


def call(given: Given, operation: Operation, body: Mapping[str, Any]) -> Any:
    """The operation's answer. What the server refuses ends the command: JSON on standard error, status 1."""
    connection = find_connection(given)
    from app.cli.asking import Refused, ask  # late: it imports httpx2

    try:
        return ask(connection, operation, body)
    except Refused as refused:
        raise ended(refused.problem | ({} if connection.token else {"hint": SIGN_IN})) from None


def ended(problem: Mapping[str, Any]) -> click.exceptions.Exit:
    """Print what went wrong as JSON on standard error; raise what this returns."""
    click.echo(json.dumps(problem, ensure_ascii=False), err=True)
    return click.exceptions.Exit(1)


def show(answer: Any, output: str | None) -> None:
    """Print an answer: for a person on a terminal, for a program otherwise."""
    if _as_json(output):
        click.echo(json.dumps(answer, ensure_ascii=False, indent=2))
        return
    from app.cli.rendering import render  # late: rich

    render(answer)


def _as_json(output: str | None) -> bool:
    return output == "json" or (output is None and not sys.stdout.isatty())


def read_body(body: str | None) -> dict[str, Any]:
    """The object that `--body` gives or names; nothing is an empty one. Raises click.UsageError with the place."""
    text = _text(body or "").strip()
    try:
        content = json.loads(text, parse_constant=_no_json) if text else {}
    except json.JSONDecodeError as error:
        raise click.UsageError(
            f"--body is not JSON: {error.msg} in line {error.lineno}, column {error.colno}."
        ) from None
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"--body is not JSON that can be read: {error}.") from None
    if not isinstance(content, dict):
        raise click.UsageError("--body must be a JSON object: {…}.")
    return content


def _text(body: str) -> str:
    try:
        if body == "-":
            return sys.stdin.buffer.read().decode("utf-8-sig")
        if body.startswith("@") or body.endswith(".json"):
            return Path(body.removeprefix("@")).read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise click.UsageError("--body is not UTF-8.") from None
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--body cannot be read: {error}") from None
    return body


def _no_json(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _fields(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """The rows of a body's help; fields of objects below are named with dots."""
    for name, each in schema["properties"].items():
        facts = ["required"] if name in schema["required"] else []
        facts += [_type(each), *_limits(each)]
        if each.get("default") is not None:
            facts.append(f"default {json.dumps(each['default'])}")
        yield path + name, f"{', '.join(facts)}. {each['description']}"
        if "properties" in each:
            yield from _fields(each, f"{path}{name}.")


def _type(schema: Mapping[str, Any]) -> str:
    type_ = schema.get("type", "any JSON")
    name = type_[0] if isinstance(type_, list) else type_
    if name == "array":
        return f"array of {_type(schema['items'])}"
    if "enum" in schema:
        return " | ".join(value for value in schema["enum"] if value is not None)
    return str(schema.get("format", name))


def _limits(schema: Mapping[str, Any]) -> Iterator[str]:
    for least, most, of in (("minimum", "maximum", ""), ("minLength", "maxLength", " characters")):
        if most in schema:
            yield f"{schema[least]} to {schema[most]:,}{of}" if least in schema else f"at most {schema[most]:,}{of}"
    if "maxItems" in schema:
        yield f"at most {schema['maxItems']:,}"
