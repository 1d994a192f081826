"""Builds what the benchmarks run."""

import subprocess
import sys
from pathlib import Path

TARGETS = ("weft-bench", "weft-fma-peak", "weft-bandwidth",
           "weft-read-rate", "weft-all-reduce", "weft-sparse-sum",
           "weft-lossy-switch", "weft-micro", "weft-cli", "weft-books",
           "weft-concurrent-bench", "weft-market-bench", "weft-python",
           "weft-serve", "weft-serve-load", "weft-serve-bare")


def build(root: Path, folder: Path) -> str:
    """Installs what is missing, configures and builds; an empty string, or
    what went wrong."""
    configured = (folder / "CMakeCache.txt").is_file()
    generator = [] if configured else ["-G", "Ninja"]
    install = ("source tools/bootstrap.sh; "
               "install_packages '' serve test bench")
    commands = (
        ["env", f"root={root}", "bash", "-c", install],
        ["cmake", "-S", root, "-B", folder, *generator, "-DWEFT_BENCH=ON", "-DWEFT_SERVE=ON",
         "-DWEFT_PYTHON=ON", "-DPython3_EXECUTABLE=/usr/bin/python3"],
        ["cmake", "--build", folder, "--target", *TARGETS])
    for command in commands:
        done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            print(done.stdout, file=sys.stderr)
            return f"the build failed: {' '.join(map(str, command))}"
    return ""
