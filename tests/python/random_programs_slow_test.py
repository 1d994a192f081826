"""Many more random programs than ./test runs, with and without AVX-512, and
kernels on many more random numbers."""

import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).parent
BINARIES = pathlib.Path(os.environ["WEFT_BIN"]).parent


class AtLength(unittest.TestCase):
    def check(self, command, rounds):
        for extra in ({}, {"WEFT_CPU": "avx2"}):
            done = subprocess.run(
                command,
                env={**os.environ, "WEFT_TEST_ROUNDS": str(rounds), **extra},
                capture_output=True,
                text=True,
            )
            output = done.stdout[-4000:] + done.stderr[-4000:]
            self.assertEqual(done.returncode, 0, output)

    def test_against_numpy(self):
        for name in ("random_programs_test.py", "optimizers_test.py"):
            self.check([sys.executable, "-B", HERE / name], 20)

    def test_kernels(self):
        name = "--gtest_filter=Kernels.*"
        self.check([BINARIES / "weft_ops_tests", name], 10)

    def test_programs_staged_and_eager(self):
        name = "--gtest_filter=RandomPrograms.*"
        self.check([BINARIES / "weft_runtime_tests", name], 20)


if __name__ == "__main__":
    unittest.main()
