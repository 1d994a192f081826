#!/usr/bin/env python3
"""What `cmake --install` puts somewhere is used from there, by a project that
has nothing else of Weft: in C++, in C, and as the command."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["WEFT_BIN"]).resolve().parents[1]
SAMPLE = ROOT / "data" / "digits" / "sample.png"


def done(*command: object, **options: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], text=True,
                          capture_output=True, **options)


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.place = tempfile.TemporaryDirectory(prefix="weft-package-")
        cls.addClassCleanup(cls.place.cleanup)
        cls.folder = Path(cls.place.name)
        cls.installed = cls.folder / "installed"
        cls.succeed("cmake", "--install", BUILD, "--prefix", cls.installed)
        weft = cls.installed / "bin" / "weft"
        cls.succeed(weft, "train", ROOT / "recipes/digits.toml", "--set",
                    "train.epochs=2", "--out", cls.folder / "run")
        cls.model = cls.folder / "digits.weft"
        cls.succeed(weft, "export", cls.folder / "run", "-o", cls.model)
        cls.told = json.loads(cls.succeed(weft, "predict", cls.model, SAMPLE,
                                          "--json"))
        cls.succeed("cmake", "-S", ROOT / "examples/embed", "-B",
                    cls.folder / "embed", f"-DCMAKE_PREFIX_PATH={cls.installed}",
                    "-DCMAKE_BUILD_TYPE=Debug",
                    # Those of a project that is stricter than most.
                    "-DCMAKE_C_FLAGS=-std=c99 -pedantic -Wall -Werror")
        cls.succeed("cmake", "--build", cls.folder / "embed")

    @classmethod
    def succeed(cls, *command: object) -> str:
        run = done(*command)
        if run.returncode != 0:
            raise AssertionError(f"{command}: {run.stdout}{run.stderr}")
        return run.stdout

    def test_cpp(self) -> None:
        said = self.succeed(self.folder / "embed/embed", self.model, SAMPLE)
        self.assertEqual(said.split(), [self.told["class"], "5"])
        wrong = done(self.folder / "embed/embed", SAMPLE, SAMPLE)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("sample.png", wrong.stderr)

    def test_c(self) -> None:
        line, zeros = self.succeed(self.folder / "embed/embed-c", self.model,
                                   SAMPLE).splitlines()
        self.assertEqual(json.loads(line)["classes"], self.told["classes"])
        self.assertEqual(zeros, "image: 1 x 10")
        wrong = done(self.folder / "embed/embed-c", self.folder / "none.weft",
                     SAMPLE)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("none.weft", wrong.stderr)

    def test_flags_stay_here(self) -> None:
        targets = next(self.installed.glob("lib/**/weft-targets.cmake"))
        options = re.findall(r"INTERFACE_COMPILE_OPTIONS.*", targets.read_text())
        self.assertEqual(options, [])

    def test_pkg_config(self) -> None:
        pc = next(self.installed.glob("lib/**/pkgconfig"))
        said = done("pkg-config", "--libs", "--cflags", "weft",
                    env={**os.environ, "PKG_CONFIG_PATH": str(pc)}).stdout
        self.assertIn("-lweft", said)


if __name__ == "__main__":
    sys.exit(unittest.main())
