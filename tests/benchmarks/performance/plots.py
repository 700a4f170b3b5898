"""The results as plots."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

mpl.rcParams.update({"svg.hashsalt": "gctl", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})


def plots(results: Mapping[str, Any], folder: Path) -> None:
    """overhead.svg and growth.svg."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    for axis, (limit, rows) in zip(axes, results["overhead"].items(), strict=True):
        axis.barh(list(rows), [row["cpu"] for row in rows.values()], color="#456990")
        axis.set(title=f"CPU ms a request, limit {limit}")
        axis.invert_yaxis()
    _save(figure, folder / "overhead.svg")
    figure, axes = plt.subplots(1, 5, figsize=(15, 3), layout="constrained")
    others, build, crowd, server, worker = axes
    grown = results["growth"]
    for name in next(iter(grown.values()))["classes"]:
        others.plot([int(n) for n in grown], [each["classes"][name]["retrieve"] for each in grown.values()], label=name)
    others.set(xscale="log", title="SQL of a retrieve, ms", xlabel="passages of others", ylim=0)
    others.legend(fontsize=6, ncols=2)
    build.plot([int(n) for n in grown], [each["build"] for each in grown.values()])
    build.set(xscale="log", title="build, µs a passage", xlabel="passages of others", ylim=0)
    crowd.plot([int(n) for n in results["crowds"]], [row["rate"] for row in results["crowds"].values()])
    crowd.set(xscale="log", title="requests/s", xlabel="clients", ylim=0)
    for axis, samples, of, what in (
        (server, results["memory"], "server", "requests"),
        (worker, results["worker"]["samples"], "worker", "jobs"),
    ):
        axis.plot(*zip(*[(n, size / 1e6) for n, size in samples], strict=True))
        axis.set(title=f"{of}, resident MB", xlabel=what, ylim=0)
    _save(figure, folder / "growth.svg")


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
