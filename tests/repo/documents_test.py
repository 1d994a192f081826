#!/usr/bin/env python3
"""The C++ in README.md and docs/guides compiles, and their links lead
somewhere."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```cpp\n(.*?)^```", re.MULTILINE | re.DOTALL)
ANY_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)\)")


def compile_error(source: str, folder: Path) -> str:
    file = folder / "example.cpp"
    file.write_text(source)
    done = subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only",
         "-fopenmp", "-I", folder, "-I", ROOT, file],
        capture_output=True, text=True)
    return done.stderr if done.returncode else ""


class DocumentsTest(unittest.TestCase):
    def test_readme_example_compiles(self) -> None:
        (code,) = FENCE.findall((ROOT / "README.md").read_text())
        lines = code.splitlines()
        includes = [line for line in lines if line.startswith("#")]
        body = [line for line in lines if not line.startswith("#")]
        source = "\n".join(
            includes + ["void example(weft::Value x, weft::Value y) {"] +
            body + ["}"])
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(compile_error(source, Path(folder)), "")

    def test_op_guide_compiles(self) -> None:
        guide = (ROOT / "docs/guides/adding-an-op.md").read_text()
        source, declaration = FENCE.findall(guide)
        with tempfile.TemporaryDirectory() as folder:
            header = Path(folder) / "weft/ops/softplus.h"
            header.parent.mkdir(parents=True)
            header.write_text(
                '#pragma once\n#include "weft/graph/context.h"\n'
                f"namespace weft {{\n{declaration}}}\n")
            self.assertEqual(compile_error(source, Path(folder)), "")

    def test_guides_show_the_examples(self) -> None:
        examples = ROOT / "examples/extension/weft"
        for name, *files in (
                ("a-task", "train/tasks/quantile.cpp"),
                ("a-batch-source", "train/sources/spirals.cpp"),
                ("an-optimizer", "optim/optimizers/adamax.cpp"),
                ("a-policy", "train/sync/policies/majority.cpp",
                 "train/sync/aggregation/clipped_mean.cpp")):
            guide = (ROOT / f"docs/guides/adding-{name}.md").read_text()
            self.assertEqual(FENCE.findall(guide),
                             [(examples / file).read_text() for file in files])

    def test_links_lead_somewhere(self) -> None:
        documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
        documents += (ROOT / "docs").rglob("*.md")
        for document in documents:
            prose = ANY_FENCE.sub("", document.read_text())
            for link in LINK.findall(prose):
                if "://" in link:
                    continue
                self.assertTrue((document.parent / link).exists(),
                                f"{document}: {link}")


if __name__ == "__main__":
    unittest.main()
