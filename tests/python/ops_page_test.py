"""docs/ops.md says what the registries say."""

import subprocess
import sys
import tomllib
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import make_ops_page  # noqa: E402


def is_function(object):
    return callable(object) and not isinstance(object, type)


class OpsPage(unittest.TestCase):
    def test_it_is_up_to_date(self):
        done = subprocess.run(
            [sys.executable, ROOT / "tools/make_ops_page.py", "--check"]
        )
        self.assertEqual(done.returncode, 0, "run tools/make_ops_page.py")

    def test_no_function_of_numpy_is_forgotten(self):
        entry = tomllib.loads(
            (ROOT / "tools" / "other_systems.toml").read_text()
        )["numpy"]
        told = set(entry["as"])
        for names in ("same", "apart", "former"):
            told.update(entry[names].split())
        there = {
            prefix + name
            for prefix, module in (
                ("", np),
                ("linalg.", np.linalg),
                ("fft.", np.fft),
                ("random.", np.random),
            )
            for name in module.__all__
            if not name.startswith("_") and is_function(getattr(module, name))
        }
        self.assertGreater(len(there), 400)
        self.assertEqual(sorted(there - told), [])

    def test_what_is_missing_is_computed(self):
        entry = {
            "title": "X",
            "left_out": "",
            "same": "Add Cbrt",
            "as": {"Clip": "clamp", "Swish": "sigmoid multiply"},
        }
        some = make_ops_page.System(entry, {"add", "clamp", "sigmoid"})
        self.assertEqual(some.missing, ["Cbrt", "Swish"])
        more = make_ops_page.System(
            entry, {"add", "clamp", "sigmoid", "multiply", "cbrt"}
        )
        self.assertEqual((more.missing, more.count), ([], 4))


if __name__ == "__main__":
    unittest.main()
