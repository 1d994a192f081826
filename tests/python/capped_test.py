"""What NumPy says holds on processors without AVX-512, too."""

import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).parent


SCRIPTS = (
    "numerics_test.py",
    "numerics_of_rows_test.py",
    "random_programs_test.py",
)


class Capped(unittest.TestCase):
    def test_with_avx2(self):
        for script in SCRIPTS:
            done = subprocess.run(
                [sys.executable, "-B", HERE / script],
                env={**os.environ, "WEFT_CPU": "avx2"},
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
