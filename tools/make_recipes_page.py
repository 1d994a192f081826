#!/usr/bin/env python3
"""Writes docs/recipes.md from what sections and registries declare: every key of
a recipe. With --check it only says whether the page is up to date.

WEFT_BIN=build/bin/weft tools/make_recipes_page.py
"""

import argparse
import json
import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "recipes.md"
BIN = os.environ.get("WEFT_BIN", ROOT / "build" / "bin" / "weft")
INTRODUCTION = """\
# Recipes

<!-- Written by tools/make_recipes_page.py from what sections declare. -->

Every key that a recipe may have, as `weft train --help KEY` says it. `name` in
`[model]`, `[task]`, `[data]` and `[optimizer]` chooses an entry of a registry, which
adds keys of its own. A key that is not known is refused, with the nearest one.

"""


def keys() -> list[dict]:
    done = subprocess.run([BIN, "train", "--help", "recipe", "--json"],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def table(rows: list[dict]) -> str:
    lines = ["| key | default | may be | meaning |", "| --- | --- | --- | --- |"]
    for row in rows:
        cells = (f"`{row['key']}`", f"`{row['default']}`", row["allowed"],
                 row["summary"])
        lines.append("| " + " | ".join(
            cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n\n"


def calls_table(row: dict) -> str:
    lines = [f"`{row['key']}` calls:", "", "| call | option | default | may be |"
             " meaning |", "| --- | --- | --- | --- | --- |"]
    for call in row["calls"]:
        lines.append(f"| `{call['name']}` | | | | {call['summary']} |")
        lines += [f"| | `{option['name']}` | `{option['default']}` |"
                  f" {option['allowed']} | {option['summary']} |"
                  for option in call["options"]]
    return "\n".join(lines) + "\n\n"


def page() -> str:
    text = INTRODUCTION
    for section, rows in groupby(keys(), lambda row: row["section"]):
        text += (f"### [[{section}]]\n\n" if "." in section
                 else f"## [{section}]\n\n")
        for entry, own in groupby(rows, lambda row: row["entry"]):
            if entry:
                text += f"With `name = \"{entry}\"`:\n\n"
            own = list(own)
            text += table(own)
            text += "".join(calls_table(row) for row in own if row["calls"])
    return text.rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        return 0 if PAGE.read_text() == page() else 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
