"""What differs between the released schema and the present one, as clients feel it.

python -m tests.graphql_schema.changes            prints it; exit status 1 where a client would break
python -m tests.graphql_schema.changes --release  takes the present schema for the released one
"""

import sys
from pathlib import Path

from graphql import build_schema
from graphql.utilities import BreakingChange, DangerousChange, find_schema_changes

from graphql_schema.schema import SDL_FILE

RELEASED_FILE = SDL_FILE.with_name("released.graphql")


def report(released: str, present: str) -> tuple[list[str], list[str], list[str]]:
    """The breaking, the dangerous and the safe changes between two texts in SDL, a line each.

    Breaking: a document or a client's generated code that was right no longer is. Dangerous: it still is, and may meet
    what it does not expect, such as a new value of an enum.
    """
    breaking, dangerous, safe = [], [], []
    for change in find_schema_changes(build_schema(released), build_schema(present)):
        line = f"{change.type.name}: {change.description}"
        if isinstance(change, BreakingChange):
            breaking.append(line)
        elif isinstance(change, DangerousChange):
            dangerous.append(line)
        elif not change.type.name.startswith("DESCRIPTION"):
            safe.append(line)
    return breaking, dangerous, safe


def main() -> int:
    if "--release" in sys.argv[1:]:
        Path(RELEASED_FILE).write_text(SDL_FILE.read_text())
        return 0
    groups = report(RELEASED_FILE.read_text(), SDL_FILE.read_text())
    for title, lines in zip(("Breaking", "Dangerous", "Safe"), groups, strict=True):
        print(f"{title}: {len(lines)}", *(f"  {line}" for line in lines), sep="\n")
    return 1 if groups[0] else 0


if __name__ == "__main__":
    sys.exit(main())
