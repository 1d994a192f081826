#!/usr/bin/env python3
"""No comment begins with a dangling "Of" or "By": what it belongs to would
stand in the code below, and a reader should not have to look for it."""

import re
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("weft", "cli", "python", "tests", "bench", "examples", "tools",
           "cmake")
HASHES = (".py", ".cmake", ".txt", ".sh")  # comments begin with '#' there
SLASHES = (".h", ".cpp")
DANGLING = re.compile(r"(?:Of|By) ")
DANGLING_DOC = re.compile(r'\s*"""(?:Of|By) ')


def blocks(text: str, mark: str) -> Iterator[tuple[int, str]]:
    """The line and the first words of each comment that stands alone: lines
    that follow each other are one comment, up to an empty line or a heading
    ("# --- Rows ---")."""
    goes_on = False
    for number, line in enumerate(text.splitlines(), 1):
        comment = line.strip()
        words = comment[len(mark):].strip() if comment.startswith(mark) else ""
        if words.startswith("---"):
            words = ""
        if words and not goes_on:
            yield number, words
        goes_on = bool(words)


def dangling(text: str, mark: str) -> list[int]:
    """The lines at which such comments begin, and such docstrings."""
    found = [number for number, words in blocks(text, mark)
             if DANGLING.match(words)]
    if mark == "#":
        found += [number for number, line in enumerate(text.splitlines(), 1)
                  if DANGLING_DOC.match(line)]
    return found


class CommentsTest(unittest.TestCase):
    def test_no_comment_dangles(self) -> None:
        seen = 0
        found = []
        for folder in FOLDERS:
            for path in sorted((ROOT / folder).rglob("*")):
                if path.suffix not in HASHES + SLASHES:
                    continue
                text = path.read_text()
                mark = "#" if path.suffix in HASHES else "//"
                seen += sum(1 for _ in blocks(text, mark))
                found += [f"{path.relative_to(ROOT)}:{line}"
                          for line in dangling(text, mark)]
        self.assertGreater(seen, 10000)
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_what_dangles(self) -> None:
        self.assertEqual(dangling("""
            // Of the whole.
            int a;
            // The count
            // Of which there is one.
            int b;
            //
            // By columns.
            // --- By rows ---
            // Of rows.
            int c;  // Of a line that is not all comment.
            // Offsets by row.
            """, "//"), [2, 8, 10])
        self.assertEqual(dangling('# By name.\n# Bytes\nx = 1  # Of x\n'
                                  'def f():\n    """Of each."""\n', "#"),
                         [1, 5])


if __name__ == "__main__":
    sys.exit(unittest.main())
