"""What holds for examples/core, however weft_core was built."""

import re
import subprocess
import unittest
from pathlib import Path

EXPECTED = """\
fitted y = 2.0000 x + 1.0000, loss 0.000000
10 -> 21.000
20 -> 41.000
30 -> 61.000
"""
# Names of shared libraries, and of functions in them.
FOREIGN_LIBRARY = re.compile(
    r"lib(gomp|omp|mpi|open-rte|dnnl|openblas|blas|lapack|sodium|z|zstd|deflate"
    r"|png|jpeg|toml)\w*\.")
FOREIGN_SYMBOL = re.compile(
    r"^(GOMP_|omp_|__kmpc|MPI_|dnnl_|cblas_|openblas_|sodium_|inflate)",
    re.MULTILINE)


def check_output(test: unittest.TestCase, program: Path, folder: Path) -> None:
    done = subprocess.run([program, folder / "line.weft"], capture_output=True,
                          text=True)
    test.assertEqual(done.returncode, 0, done.stderr)
    test.assertEqual(done.stdout, EXPECTED)


def check_libraries(test: unittest.TestCase, program: Path) -> None:
    loaded = subprocess.run(["ldd", program], capture_output=True, text=True,
                            check=True).stdout
    test.assertIn("libc", loaded)
    test.assertNotRegex(loaded, FOREIGN_LIBRARY)
    names = subprocess.run(["nm", "--format=posix", program],
                           capture_output=True, text=True, check=True).stdout
    test.assertIn("main", names)
    test.assertNotRegex(names, FOREIGN_SYMBOL)
