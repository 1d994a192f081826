#!/usr/bin/env python3
"""examples/concurrent: several threads find what one does."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM = Path(os.environ["WEFT_BIN"]).parent / "weft-concurrent"


class ConcurrentExampleTest(unittest.TestCase):
    def test_threads_find_the_shortest_paths(self) -> None:
        for threads in (1, 4):
            done = subprocess.run([PROGRAM, str(threads)],
                                  capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(f"by {threads} threads: as by Dijkstra", done.stdout)
            self.assertEqual(done.stderr, "")
            reached = re.search(r"(\d+) reached", done.stdout)[1]
            self.assertIn(f"\n{reached} in all\n", done.stdout)


if __name__ == "__main__":
    sys.exit(unittest.main())
