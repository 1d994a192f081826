"""docs/ops.md says what the registries say."""

import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import make_ops_page  # noqa: E402


class OpsPage(unittest.TestCase):
    def test_it_is_up_to_date(self):
        done = subprocess.run(
            [sys.executable, ROOT / "tools/make_ops_page.py", "--check"]
        )
        self.assertEqual(done.returncode, 0, "run tools/make_ops_page.py")

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
