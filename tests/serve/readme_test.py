#!/usr/bin/env python3
"""README's Python that trains a model and serves it runs as it is printed."""

import contextlib
import io
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

from small_sets import write_mnist  # noqa: E402
from weft import BIN, ROOT, free_port  # noqa: E402

sys.modules.pop("weft")  # that was the helper of the command line's tests


class ReadmeTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="weft-readme-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        data = Path(folder.name) / "data" / "mnist"
        data.mkdir(parents=True)
        write_mnist(data)
        os.environ["WEFT_DATA"] = str(data.parent)
        os.environ["PATH"] = f"{BIN.parent}:{os.environ['PATH']}"
        sys.path[:] = [path for path in sys.path
                       if not path.endswith("tests/cli")]

    def test_trains_and_serves(self) -> None:
        port = free_port()
        text = (ROOT / "README.md").read_text()
        train, serve = [
            block for block in re.findall(r"```python\n(.*?)```", text,
                                          re.DOTALL)
            if "mnist" in block]
        for block, most in ((train, 20), (serve, 10)):
            lines = [line for line in block.splitlines() if line.strip()]
            self.assertLessEqual(len(lines), most)
        # Others may listen at the usual ports.
        serve = serve.replace(
            '"mnist.weft"]', f'"mnist.weft", "--no-grpc", "--port", "{port}"]')
        serve = serve.replace(":8000", f":{port}")
        names: dict = {}
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                exec(compile(train, "README.md", "exec"), names)
                exec(compile(serve, "README.md", "exec"), names)
        finally:
            if "server" in names:
                names["server"].terminate()
                names["server"].communicate()
        self.assertEqual(len(said.getvalue().splitlines()), 2)
        self.assertLess(float(names["loss"]), 1)
        self.assertEqual(len(names["scores"]), 10)
        self.assertAlmostEqual(sum(names["scores"]), 1, 5)
        best = max(range(10), key=lambda i: names["scores"][i])
        self.assertEqual(best, int(names["label"][0]))


if __name__ == "__main__":
    sys.exit(unittest.main())
