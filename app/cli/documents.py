"""`gctl documents`: the documents that clients may name by their hash, and in `only` mode the only ones that run."""

import json
from pathlib import Path

import click
from graphql import GraphQLSyntaxError, parse

from app.cli.running import operator, read_settings
from app.services import open_services
from app.web.documents import count_trusted, distrust, sha256_of, trust

MAX_CHARACTERS = 100_000  # of one document: a server takes no longer ones


@click.group()
def documents() -> None:
    """Register the GraphQL documents of your front ends."""


@documents.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@operator
async def register(files: tuple[Path, ...]) -> None:
    """Register documents for all workspaces. Safe to repeat.

    A .json file is a manifest, as graphql-codegen (`persistedDocuments`, with sha256) or Apollo writes one. Any other
    file is one document, and its sha256 that of the file as it is.
    """
    found = [document for file in files for document in read_documents(file)]
    async with open_services(read_settings(quiet=True)) as services, services.database.write() as session:
        added = await trust(session, dict.fromkeys(found))
        total = await count_trusted(session)
    click.echo(f"{added} new documents, {total} in all. Servers know them within seconds.")


@documents.command()
@click.argument("names", nargs=-1, required=True)
@operator
async def remove(names: tuple[str, ...]) -> None:
    """Take documents back, by the sha256 of each."""
    async with open_services(read_settings(quiet=True)) as services, services.database.write() as session:
        gone = await distrust(session, names)
    click.echo(f"{gone} documents are registered no longer.")


def read_documents(file: Path) -> list[str]:
    """The documents of a file. Raises ClickException, naming the file, for what is none."""
    try:
        text = file.read_bytes().decode()
        found = _manifest(json.loads(text)) if file.suffix == ".json" else [text]
        for document in found:
            if len(document) > MAX_CHARACTERS:
                raise ValueError(f"a document has {len(document)} characters, and {MAX_CHARACTERS} are allowed")
            parse(document)
    except GraphQLSyntaxError as error:
        raise click.ClickException(f"{file}: {error.message}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise click.ClickException(f"{file} is no document and no manifest: {error}") from None
    return found


def _manifest(content: object) -> list[str]:
    """https://www.apollographql.com/docs/graphos/platform/security/persisted-queries#manifest-format, or {hash: text}.

    Raises ValueError, KeyError or TypeError for another shape, and for a hash that is not the text's.
    """
    if not isinstance(content, dict):
        raise TypeError("a manifest is a JSON object")
    if content.get("format") == "apollo-persisted-query-manifest":
        given = {operation["id"]: operation["body"] for operation in content["operations"]}
    else:
        given = content
    for name, document in given.items():
        if not isinstance(document, str):
            raise TypeError(f"{name} is no text")
        if sha256_of(document) != name.removeprefix("sha256:"):
            raise ValueError(f"{name} is not the sha256 of its text; set the manifest's hash algorithm to sha256")
    return list(given.values())
