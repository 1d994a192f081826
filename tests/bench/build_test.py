#!/usr/bin/env python3
"""What bench/run builds: on a clean clone nobody has built the rest before."""

import re
import sys
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

from lib.build import TARGETS  # noqa: E402


class Build(unittest.TestCase):
    def test_has_every_program_that_a_bench_starts(self):
        sources = [*BENCH.glob("lib/*.py"), *BENCH.glob("suites/*.py")]
        started = {name for source in sources for name in
                   re.findall(r'bin(?:/|" / ")(weft-[a-z-]+)',
                              source.read_text())}
        self.assertIn("weft-bench", started)
        # GCC alone can compile it, and weft-bench depends on it there.
        built = {*TARGETS, "weft-itm-array"}
        self.assertEqual(started - built, set())

    def test_has_every_program_of_its_own(self):
        text = (BENCH / "CMakeLists.txt").read_text()
        programs = set(re.findall(r"add_executable\((weft-[a-z-]+)", text))
        self.assertIn("weft-lossy-switch", programs)
        self.assertEqual(programs - {*TARGETS, "weft-itm-array"}, set())


if __name__ == "__main__":
    unittest.main()
