#!/usr/bin/env python3
"""Writes the floor plans of README.md and docs/design.md from weft/floors.txt,
between their marks. With --check it only says whether they are up to date."""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FLOORS = ROOT / "weft" / "floors.txt"
PAGES = (ROOT / "README.md", ROOT / "docs" / "design.md")
BEGIN = "<!-- floors -->\n"
END = "<!-- end -->\n"
# What stands on top of the library.
FACES = (("cli/", 9, "the command line: it parses, calls, prints"),
         ("python/", 9, "the Python face: it converts, calls, names"))


class Line(NamedTuple):
    name: str
    floor: int | None  # a room has none, and no text
    text: str
    is_core: bool


def lines() -> list[Line]:
    """Modules and rooms, lowest first."""
    found = []
    for line in FLOORS.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        name, *rest = (part.strip() for part in line.split("|", 2))
        name, _, mark = name.partition(" ")
        floor, text = (int(rest[0]), rest[1]) if rest else (None, "")
        found.append(Line(name, floor, text, mark == "core"))
    return found


def table(page: Path) -> str:
    rows = [(f"weft/{line.name}/", line.floor, line.text)
            for line in lines() if line.floor is not None]
    # Links are written from the root.
    up = "../" * len(page.relative_to(ROOT).parents[:-1])
    text = "| floor | folder | what lives there |\n| --- | --- | --- |\n"
    for folder, floor, what in (*rows, *FACES):
        text += f"| {floor} | `{folder}` | {what.replace('](', '](' + up)} |\n"
    return text


def with_table(page: Path) -> str:
    before, rest = page.read_text().split(BEGIN, 1)
    return before + BEGIN + table(page) + END + rest.split(END, 1)[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    stale = [page for page in PAGES if page.read_text() != with_table(page)]
    for page in stale:
        if options.check:
            print(f"{page.relative_to(ROOT)} is not what weft/floors.txt says",
                  file=sys.stderr)
        else:
            page.write_text(with_table(page))
    return int(options.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
