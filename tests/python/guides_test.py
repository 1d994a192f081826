"""The examples of the guides in Python run as they are printed."""

import contextlib
import io
import os
import re
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Guides(unittest.TestCase):
    def setUp(self):
        # They write files, and name those of the tree as its readers do.
        folder = tempfile.TemporaryDirectory(prefix="weft-guides-")
        self.addCleanup(folder.cleanup)
        for part in ("recipes", "data"):
            os.symlink(ROOT / part, Path(folder.name) / part)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def run_examples(self, guide):
        text = (ROOT / "docs/guides" / guide).read_text()
        examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertGreater(len(examples), 1)
        names = {}  # later examples use what earlier ones made
        for example in examples:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(example, guide, "exec"), names)
        return names

    def test_transformations(self):
        self.run_examples("transformations.md")

    def test_from_pytorch(self):
        self.run_examples("from-pytorch.md")

    def test_from_jax(self):
        self.run_examples("from-jax.md")

    def test_training(self):
        names = self.run_examples("training.md")
        self.assertGreater(names["best"], 0.9)
        self.assertEqual(names["scores"].shape[1], 10)


if __name__ == "__main__":
    unittest.main()
