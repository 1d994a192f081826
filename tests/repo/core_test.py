#!/usr/bin/env python3
"""A program of weft_core alone runs, and loads nothing that a browser lacks."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from core_program import check_libraries, check_output  # noqa: E402

PROGRAM = Path(os.environ["WEFT_BIN"]).with_name("weft-core")


class CoreTest(unittest.TestCase):
    def test_it_fits_writes_and_serves(self) -> None:
        with tempfile.TemporaryDirectory(prefix="weft-core-") as folder:
            check_output(self, PROGRAM, Path(folder))

    def test_it_needs_none_of_the_rest(self) -> None:
        check_libraries(self, PROGRAM)

    def test_the_libraries_of_the_rest_are_seen_in_it(self) -> None:
        needed = subprocess.run(["ldd", os.environ["WEFT_BIN"]],
                                capture_output=True, text=True).stdout
        for library in ("gomp", "dnnl", "openblas"):
            self.assertIn(library, needed)


if __name__ == "__main__":
    sys.exit(unittest.main())
