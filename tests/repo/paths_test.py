#!/usr/bin/env python3
"""Files that comments and pages name are there."""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("weft", "cli", "python", "tests", "bench", "examples", "tools",
           "cmake", "docs", "recipes", "data")
# A path of at least one folder, or all of it.
NAMED = re.compile(r"(?<![\w./<])((?:[a-z_]+/)+[\w-]+\.(?:h|cpp|py|md|txt))\b")
# What whoever follows the guide writes.
OF_READERS = {"weft/ops/softplus.cpp", "weft/ops/softplus.h"}
COMMENT = re.compile(r"(?://|#(?!\s*include)).*$", re.MULTILINE)


def files() -> list[Path]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")
             if path.is_file()]
    return found + [path for path in ROOT.iterdir() if path.is_file()]


def named_in(path: Path) -> set[str]:
    text = path.read_text()
    if path.suffix != ".md":
        text = "\n".join(COMMENT.findall(text))
    # "suites/NAME.py" is any of them.
    return {name for name in NAMED.findall(text)
            if "NAME" not in name} - OF_READERS


def is_there(name: str, endings: set[str]) -> bool:
    return f"/{name}" in endings


def endings_of(paths: list[Path]) -> set[str]:
    """Each file by all ends of its path: comments leave out what leads to the
    module that they stand in."""
    endings = set()
    for path in paths:
        parts = path.relative_to(ROOT).parts
        endings |= {"/" + "/".join(parts[i:]) for i in range(len(parts))}
    return endings


class PathsTest(unittest.TestCase):
    def test_what_is_named_is_there(self) -> None:
        paths = files()
        endings = endings_of(paths)
        missing = [f"{path.relative_to(ROOT)}: {name}" for path in paths
                   if path.suffix in (".h", ".cpp", ".py", ".md", ".txt")
                   for name in sorted(named_in(path))
                   if not is_there(name, endings)]
        self.assertEqual(missing, [])

    def test_a_name_without_a_file_is_found(self) -> None:
        endings = endings_of([ROOT / "weft/base/error.h"])
        self.assertEqual(NAMED.findall("see (base/error.h)."), ["base/error.h"])
        self.assertTrue(is_there("base/error.h", endings))
        self.assertFalse(is_there("base/terror.h", endings))


if __name__ == "__main__":
    sys.exit(unittest.main())
