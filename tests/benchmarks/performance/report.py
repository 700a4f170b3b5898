"""The results as tables, JSON and plots."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

mpl.rcParams.update({"svg.hashsalt": "gctl", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
BEGIN, END = "<!-- tables: begin -->\n", "<!-- tables: end -->\n"


def write(results: Mapping[str, Any], page: Path) -> None:
    """Put the tables between the page's two marks, and the JSON and the plots into the folder of the page's name."""
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    head, _, rest = page.read_text().partition(BEGIN)
    page.write_text(head + BEGIN + tables(results) + END + rest.partition(END)[2])
    _plots(results, folder)


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(_cell(value) for value in line) + " |\n" for line in lines) + "\n"


def _cell(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def tables(results: Mapping[str, Any]) -> str:
    about = results["about"]
    parts = [f"`{about['command']}`, {about['when']}, {about['machine']}.\n\n"]
    for limit, rows in results["overhead"].items():
        base = rows["a plain route"]["cpu"]
        parts.append(f"### A retrieve, limit {limit}, 10,000 passages, two clients\n\n")
        parts.append(
            _table(
                ["server", "CPU ms a request", "of the plain route's", "requests/s", "p50 ms", "p95", "p99"],
                [[n, r["cpu"], r["cpu"] / base, r["rate"], r["p50"], r["p95"], r["p99"]] for n, r in rows.items()],
            )
        )
    equal = results["equal"]
    parts.append(f"Answers compared: {equal['compared']:,}, not equal: {len(equal['differences'])}.\n\n")
    parts.append("### SQL of a retrieve, ms\n\n")
    parts.append(
        "`retrieve` are its four statements, one after the other, through bare asyncpg; F the content search without "
        "admission, R a `SELECT 1`; tantivy ranks in process, without admission.\n\n"
    )
    rows = [
        [
            f"{int(size):,}",
            caller,
            name,
            t["retrieve"],
            t["search"],
            t["bare"],
            t["trip"],
            t["share"],
            t.get("tantivy", ""),
        ]
        for size, callers in results["sql"].items()
        for caller, classes in callers.items()
        for name, t in classes.items()
    ]
    head = ["passages", "caller", "question", "retrieve", "search", "F", "R", "of its limit", "tantivy"]
    parts.append(_table(head, rows))
    parts.append("### Growth\n\n")
    grown = results["growth"]
    parts.append(
        _table(
            ["passages of others", *next(iter(grown.values()))["classes"], "R", "build, µs a passage"],
            [
                [
                    f"{int(others):,}",
                    *[t["retrieve"] for t in each["classes"].values()],
                    max(t["trip"] for t in each["classes"].values()),
                    each["build"],
                ]
                for others, each in grown.items()
            ],
        )
    )
    parts.append(
        _table(
            ["clients", "requests/s", "CPU ms a request", "p50 ms", "p95", "p99"],
            [[c, r["rate"], r["cpu"], r["p50"], r["p95"], r["p99"]] for c, r in results["crowds"].items()],
        )
    )
    first, last = results["memory"][0], results["memory"][-1]
    parts.append(
        f"Memory of the server: {first[1] / 1e6:.1f} MB after {first[0]:,} requests, {last[1] / 1e6:.1f} MB after "
        f"{last[0]:,}.\n\n"
    )
    return "".join(parts)


def _plots(results: Mapping[str, Any], folder: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    for axis, (limit, rows) in zip(axes, results["overhead"].items(), strict=True):
        axis.barh(list(rows), [row["cpu"] for row in rows.values()], color="#456990")
        axis.set(title=f"CPU ms a request, limit {limit}")
        axis.invert_yaxis()
    _save(figure, folder / "overhead.svg")
    figure, (others, crowd, memory, build) = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
    grown = results["growth"]
    for name in next(iter(grown.values()))["classes"]:
        others.plot([int(n) for n in grown], [each["classes"][name]["retrieve"] for each in grown.values()], label=name)
    others.set(xscale="log", title="SQL of a retrieve, ms", xlabel="passages of others", ylim=0)
    others.legend(fontsize=6)
    crowd.plot([int(n) for n in results["crowds"]], [row["rate"] for row in results["crowds"].values()])
    crowd.set(xscale="log", title="requests/s", xlabel="clients", ylim=0)
    memory.plot(*zip(*[(n, size / 1e6) for n, size in results["memory"]], strict=True))
    memory.set(title="server, resident MB", xlabel="requests", ylim=0)
    build.plot([int(n) for n in grown], [each["build"] for each in grown.values()])
    build.set(xscale="log", title="build, µs a passage", xlabel="passages of others", ylim=0)
    _save(figure, folder / "growth.svg")


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
