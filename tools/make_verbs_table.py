#!/usr/bin/env python3
"""Writes the table of verbs in README.md, between its marks, from what `weft --help`
says. With --check it only says whether the table is up to date.

WEFT_BIN=build/bin/weft tools/make_verbs_table.py
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "README.md"
BIN = os.environ.get("WEFT_BIN", ROOT / "build" / "bin" / "weft")
BEGIN = "<!-- verbs -->\n"
END = "<!-- end -->\n"


def verbs(*above: str) -> list[tuple[str, str]]:
    """Names, such as "inspect codec", and summaries of all that hang below a
    verb, in the order of the help."""
    said = subprocess.run([BIN, *above, "--help"], check=True,
                          capture_output=True, text=True).stdout
    _, _, listed = said.partition("\nSubcommands:\n")
    found = []
    for line in listed.partition("\n\n")[0].splitlines():
        word, summary = line.split(maxsplit=1)
        found.append((" ".join((*above, word)), summary))
        found += verbs(*above, word)
    return found


def with_table(page: str) -> str:
    before, rest = page.split(BEGIN, 1)
    rows = ""
    for name, summary in verbs():
        cell = summary.replace("|", "\\|")
        rows += f"| `weft {name}` | {cell} |\n"
    return (before + BEGIN + "| verb | what it does |\n| --- | --- |\n" + rows +
            END + rest.split(END, 1)[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    page = PAGE.read_text()
    made = with_table(page)
    if parser.parse_args().check:
        return int(page != made)
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
