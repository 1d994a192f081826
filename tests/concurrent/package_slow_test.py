#!/usr/bin/env python3
"""weft/concurrent, installed, serves a project that has nothing else of Weft."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["WEFT_BIN"]).parents[1]
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(stranger LANGUAGES CXX)
find_package(weft-concurrent 0.1 REQUIRED)
add_executable(paths paths.cpp)
target_link_libraries(paths PRIVATE weft::concurrent)
# Every header that was installed, and every source behind them.
add_executable(everything everything.cpp)
target_link_libraries(everything
  PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,weft::concurrent>")
"""
EVERYTHING = """
int main() {
  using namespace weft::concurrent;
  const Solution found = solve(parse_edge_list("1 2\\n2 3\\n", "text"), {});
  weft::conflict_policy_registry();
  return found.is_certified && found.size > 0 ? 0 : 1;
}
"""


class PackageTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="weft-package-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def succeed(self, *command: object) -> str:
        done = subprocess.run([str(word) for word in command],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_stranger_uses_it(self) -> None:
        place = self.folder / "place"
        self.succeed("cmake", "--install", BUILD, "--component", "concurrent",
                     "--prefix", place)
        headers = [path.relative_to(place / "include")
                   for path in (place / "include").rglob("*.h")]
        self.assertIn(Path("weft/concurrent/queue/multi_queue.h"), headers)
        self.assertFalse([h for h in headers if "coherence" in h.parts])

        project = self.folder / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(PROJECT)
        (project / "paths.cpp").write_text(
            (ROOT / "examples/concurrent/main.cpp").read_text())
        (project / "everything.cpp").write_text(
            "".join(f'#include "{header}"\n' for header in sorted(headers)) +
            EVERYTHING)
        build = self.folder / "build"
        self.succeed("cmake", "-S", project, "-B", build,
                     "-DCMAKE_BUILD_TYPE=Release",
                     f"-DCMAKE_CXX_COMPILER={os.environ.get('CXX', 'c++')}",
                     f"-DCMAKE_PREFIX_PATH={place}")
        self.succeed("cmake", "--build", build)
        self.assertIn("as by Dijkstra", self.succeed(build / "paths"))
        self.succeed(build / "everything")


if __name__ == "__main__":
    sys.exit(unittest.main())
