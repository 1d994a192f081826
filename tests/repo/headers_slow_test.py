#!/usr/bin/env python3
"""Every header compiles alone.

A header that its own source includes first is proved by clang-tidy, which reads
each source alone in ./test --all; the others are compiled here.
"""

import os
import platform
import re
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# It is what cmake/WeftOptions.cmake has: Highway's vectors of no known
# processor lack what ours need.
TARGET = (["-march=x86-64-v3", "-DHWY_DISABLE_PCLMUL_AES"]
          if platform.machine() in ("x86_64", "AMD64") else [])
ARROW = ROOT / "build/arrow/include"  # where tools/arrow.sh puts it
FIRST_INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


def is_proved(header: Path) -> bool:
    source = header.with_suffix(".cpp")
    if not source.is_file():
        return False
    first = FIRST_INCLUDE.search(source.read_text())
    return first is not None and first[1] == str(header.relative_to(ROOT))


def headers() -> list[Path]:
    found = []
    for folder in ("weft", "cli"):
        found += sorted((ROOT / folder).rglob("*.h"))
    return [header for header in found if not is_proved(header)]


def complaint(headers: list[Path]) -> str:
    """What the compiler says about some headers, each in a file of its own."""
    compiler = os.environ.get("CXX", "c++")
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for number, header in enumerate(headers):
            source = Path(folder) / f"{number}.cpp"
            source.write_text(f'#include "{header.relative_to(ROOT)}"\n')
            sources.append(source)
        done = subprocess.run(
            [compiler, "-std=c++20", "-fsyntax-only", "-fopenmp-simd", *TARGET,
             "-Wall", "-Wextra", "-Werror", "-I", ROOT, "-isystem", ARROW,
             *sources],
            capture_output=True, text=True)
        return done.stderr if done.returncode else ""


class HeadersTest(unittest.TestCase):
    def test_headers_compile_alone(self) -> None:
        all_headers = headers()
        parts = [all_headers[i::8] for i in range(8)]
        with ThreadPoolExecutor(max_workers=2) as pool:
            complaints = "".join(pool.map(complaint, filter(None, parts)))
        if complaints:
            self.fail(complaints)


if __name__ == "__main__":
    sys.exit(unittest.main())
