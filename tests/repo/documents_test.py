#!/usr/bin/env python3
"""The C++ in README.md and docs compiles, and links lead somewhere."""

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

# Pages whose C++ is no whole file, and what stands around each piece of it.
BRACES = ("void example() {", "}")
FRAGMENTS = {
    "README.md": ("void example(weft::Value x, weft::Value y) {", "}"),
    "docs/embedding.md": BRACES,
    "docs/onnx.md": BRACES,
    "docs/guides/recursion.md": ("", ""),
    "docs/guides/training.md": (
        "void example(const DatasetSplits& splits) {\n"
        "struct Net : nn::Module {};", "}"),
}
INCLUDES = [f'#include "weft/{header}.h"' for header in (
    "weft", "onnx/onnx", "train/assembly",
    "train/step/loaded_data")]


def compile_error(source: str, folder: Path) -> str:
    file = folder / "example.cpp"
    file.write_text(source)
    done = subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only",
         "-fopenmp", "-I", folder, "-I", ROOT, file],
        capture_output=True, text=True)
    return done.stderr if done.returncode else ""


class DocumentsTest(unittest.TestCase):
    def test_fragments_compile(self) -> None:
        # In one file, as most of the time goes into what they include.
        includes = set(INCLUDES)
        source = ["using namespace weft;"]
        for page, (before, after) in FRAGMENTS.items():
            fragments = FENCE.findall((ROOT / page).read_text())
            self.assertTrue(fragments, page)
            for code in fragments:
                lines = code.splitlines()
                includes |= {line for line in lines if line.startswith("#")}
                body = [line for line in lines if not line.startswith("#")]
                name = f"example{len(source)}"
                source += [before.replace("example", name), *body, after]
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(compile_error(
                "\n".join([*sorted(includes), *source]), Path(folder)), "")

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
