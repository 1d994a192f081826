#!/usr/bin/env python3
"""weft_core builds on its own, and asks for none of the rest's packages."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from core_program import check_libraries, check_output  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
# A package that is looked for all the same ends the configuration.
ABSENT = ("OpenMP", "MPI", "ZLIB", "PNG", "JPEG", "Boost", "GTest", "CLI11",
          "Python3", "pybind11", "benchmark", "TBB")
# What find_library() and find_path() would have left.
TRACES = ("ONEDNN", "LAPACK", "OPENBLAS", "SODIUM", "ZSTD", "LIBDEFLATE",
          "TOMLPLUSPLUS", "AGG")


class CoreBuildTest(unittest.TestCase):
    def succeed(self, *command: object) -> None:
        done = subprocess.run([str(word) for word in command],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_it_builds_alone(self) -> None:
        with tempfile.TemporaryDirectory(prefix="weft-core-") as name:
            folder = Path(name)
            build = folder / "build"
            self.succeed(
                "cmake", "-S", ROOT, "-B", build, "-G", "Ninja",
                "-DCMAKE_BUILD_TYPE=Release", "-DWEFT_CORE_ONLY=ON",
                f"-DCMAKE_CXX_COMPILER={os.environ.get('CXX', 'c++')}",
                *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{each}=ON" for each in ABSENT))
            cache = (build / "CMakeCache.txt").read_text()
            for trace in TRACES:
                self.assertNotIn(f"\n{trace}", cache)
            self.succeed("ninja", "-C", build)
            check_output(self, build / "bin" / "weft-core", folder)
            check_libraries(self, build / "bin" / "weft-core")


if __name__ == "__main__":
    sys.exit(unittest.main())
