#!/usr/bin/env python3
"""A module may include only modules that stand above it in weft/floors.txt, one of
weft_core only what is in there, and the floor plans say what it says."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import make_floor_plan  # noqa: E402

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
FOREIGN_INCLUDE = re.compile(r"^\s*#\s*include\s*<([^>]+)>")
# weft_core may include headers in these folders or with these endings: the
# system's, and those of libraries that any of its places has.
CORE_HEADER = re.compile(r"(sys|hwy|fmt|nlohmann|xbyak)/|"
                         r"(cpuid|fcntl|immintrin|sched|signal|spawn|unistd|xmmintrin)\.h$")
# Who may know the threads of OpenMP, and MPI.
SEAMS = {"omp.h": "base/openmp/", "mpi.h": "comm/mpi/"}
# A layer, or what is made of layers.
LAYER = re.compile(r"^class \w+( final)? : public (Layer|Module) ", re.M)
# For programs: it stands on top of all modules, so that none may include it.
UMBRELLA = "weft.h"


def floors() -> list[str]:
    return [line.name for line in make_floor_plan.lines()]


def module_of(path: str, order: list[str]) -> str | None:
    """The longest module name that `path` (below weft/) lies in."""
    headers = str(Path(path).parent / ("*" + Path(path).suffix))
    found = [name for name in order
             if path.startswith(name + "/") or name == headers]
    return max(found, key=len, default=None)


def sources() -> list[Path]:
    return sorted(path for path in (ROOT / "weft").rglob("*")
                  if path.suffix in (".h", ".cpp"))


def offence(name: str, target: str, order: list[str]) -> str | None:
    """Why a file of weft/ must not include `target`, if it must not."""
    if not target.startswith("weft/"):
        return "includes are written from the root: \"weft/…\""
    own = module_of(name, order)
    other = module_of(target.removeprefix("weft/"), order)
    if other is None:
        return f"{target} is in no module of floors.txt"
    if order.index(other) > order.index(own):
        return f"{own} must not include {other}, which stands above it"
    return None


def core_offence(line: str, order: list[str], core: set[str]) -> str | None:
    """Why a file of weft_core must not hold this line, if it must not."""
    if match := INCLUDE.match(line):
        other = module_of(match[1].removeprefix("weft/"), order)
        return None if other in core else f"{match[1]} is not in weft_core"
    match = FOREIGN_INCLUDE.match(line)
    is_foreign = match and ("/" in match[1] or match[1].endswith(".h"))
    if is_foreign and not CORE_HEADER.match(match[1]):
        return f"<{match[1]}> is of a library that weft_core does without"
    return None


class FloorsTest(unittest.TestCase):
    def test_every_file_is_in_a_module(self) -> None:
        order = floors()
        homeless = [str(path.relative_to(ROOT)) for path in sources()
                    if module_of(str(path.relative_to(ROOT / "weft")),
                              order) is None]
        self.assertEqual(homeless, [f"weft/{UMBRELLA}"])

    def test_every_folder_of_sources_has_a_line(self) -> None:
        # Without one, its files could include those of its module in a circle.
        folders = {str(path.parent.relative_to(ROOT / "weft"))
                   for path in sources()} - {"."}
        self.assertEqual(folders - set(floors()), set())

    def test_includes_point_downwards(self) -> None:
        order = floors()
        offences = []
        for path in sources():
            if path.parent == ROOT / "weft":
                continue
            name = str(path.relative_to(ROOT / "weft"))
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                reason = match and offence(name, match[1], order)
                if reason:
                    offences.append(f"weft/{name}:{number}: {line.strip()}"
                                    f"  ({reason})")
        self.assertEqual(offences, [], "\n" + "\n".join(offences))

    def test_the_core_includes_only_itself(self) -> None:
        order = floors()
        core = {line.name for line in make_floor_plan.lines() if line.is_core}
        self.assertIn("runtime", core)
        offences = []
        for path in sources():
            name = str(path.relative_to(ROOT / "weft"))
            if module_of(name, order) not in core:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                reason = core_offence(line, order, core)
                if reason:
                    offences.append(f"weft/{name}:{number}: {reason}")
        self.assertEqual(offences, [], "\n" + "\n".join(offences))

    def test_headers_of_all_ops_and_layers_hold_all(self) -> None:
        nn, ops = ROOT / "weft" / "nn", ROOT / "weft" / "ops"
        layers = [path for path in nn.glob("*.h")
                  if LAYER.search(path.read_text())]
        self.assertGreater(len(layers), 15)
        for paths, header in ((layers, nn / "nn.h"),
                              (list(ops.glob("*.h")), ops / "ops.h")):
            text = header.read_text()
            missing = [path.name for path in paths if path != header and
                       f'"{path.relative_to(ROOT)}"' not in text]
            self.assertEqual(missing, [], header.name)

    def test_threads_and_networks_are_behind_one_seam(self) -> None:
        for path in sources():
            name = str(path.relative_to(ROOT / "weft"))
            for header, seam in SEAMS.items():
                if not name.startswith(seam):
                    self.assertNotIn(f"include <{header}>", path.read_text(),
                                     name)

    def test_a_foreign_include_of_the_core_is_found(self) -> None:
        order = ["base", "base/openmp"]
        for line in ("#include <omp.h>", "#include <oneapi/dnnl/dnnl.hpp>",
                     '#include "weft/base/openmp/a.h"'):
            self.assertIsNotNone(core_offence(line, order, {"base"}), line)
        for line in ("#include <vector>", "#include <hwy/highway.h>",
                     '#include "weft/base/error.h"', "int x;"):
            self.assertIsNone(core_offence(line, order, {"base"}), line)

    def test_every_module_of_the_list_exists(self) -> None:
        missing = [name for name in floors()
                   if not any((ROOT / "weft").glob(name))]
        self.assertEqual(missing, [])

    def test_floor_plans_say_the_same(self) -> None:
        done = subprocess.run(
            [ROOT / "tools" / "make_floor_plan.py", "--check"],
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0,
                         done.stderr + "run tools/make_floor_plan.py")

    def test_an_upward_include_is_found(self) -> None:
        order = ["base", "tensor"]
        self.assertIsNone(offence("tensor/a.h", "weft/base/b.h", order))
        self.assertIn("must not include tensor",
                      offence("base/b.h", "weft/tensor/a.h", order))

    def test_headers_may_stand_below_what_defines_them(self) -> None:
        order = ["ops/*.h", "ops/support", "ops"]
        self.assertEqual([module_of(path, order) for path in
                          ("ops/a.h", "ops/a.cpp", "ops/support/a.h")],
                         ["ops/*.h", "ops", "ops/support"])
        self.assertIsNone(offence("ops/support/a.cpp", "weft/ops/a.h", order))
        self.assertIsNotNone(offence("ops/a.h", "weft/ops/support/a.h", order))


if __name__ == "__main__":
    sys.exit(unittest.main())
