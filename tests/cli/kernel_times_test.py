#!/usr/bin/env python3
"""Kernels chosen by measured time: what is kept, and what WEFT_KERNELS says."""

import os
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import CliTest, run  # noqa: E402

GRAPH = """func @product(%0 "a": f32[160, 160], %1 "b": f32[160, 160]) -> (f32[160, 160]) {
  %2 = matmul(%0, %1) : f32[160, 160]
  return %2
}
"""


class KernelTimesTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.graph = self.folder / "product.txt"
        self.graph.write_text(GRAPH)
        self.cache = self.folder / "cache"

    def inspect(self, policy: str = "measured", **more: str):
        env = {**os.environ, "WEFT_CACHE": str(self.cache),
               "WEFT_KERNELS": policy, **more}
        return run("inspect", self.graph, "--graph", env=env)

    def kernel(self, output: str) -> str:
        return re.search(r"kernel (\S+)", output).group(1)

    def file(self) -> Path:
        return next(self.cache.glob("kernels-*.txt"))

    def test_times_are_shown_and_kept(self) -> None:
        first = self.inspect()
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertIn("measured: ", first.stdout)
        kept = self.file().read_text()
        self.assertIn("matmul(f32[160, 160], f32[160, 160])", kept)
        second = self.inspect()
        self.assertEqual(self.kernel(first.stdout), self.kernel(second.stdout))
        self.assertEqual(self.file().read_text(), kept)

    def test_what_is_kept_decides(self) -> None:
        self.inspect()
        path = self.file()
        names = re.findall(r"\t([^=]+)=", path.read_text())
        for favourite in names:
            path.write_text(re.sub(
                r"\t([^=]+)=[\d.]+",
                lambda m: f"\t{m[1]}={1 if m[1] == favourite else 100}",
                path.read_text()))
            for policy in ("measured", "cached"):
                self.assertEqual(self.kernel(self.inspect(policy).stdout),
                                 favourite)

    def test_ranked_and_cached_measure_nothing(self) -> None:
        for policy in ("ranked", "cached"):
            done = self.inspect(policy)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("measured: ", done.stdout)
            self.assertFalse(self.cache.exists())

    def test_damage_is_named_and_mended(self) -> None:
        self.inspect()
        self.file().write_text(self.file().read_text() + "nonsense\n")
        done = self.inspect()
        self.assertIn("1 damaged lines are ignored", done.stderr)
        self.file().write_text("another machine\n")
        done = self.inspect()
        self.assertIn("of another machine or version", done.stderr)
        self.assertIn("measured: ", done.stdout)
        self.assertEqual(self.inspect().stderr, "")

    def test_a_cache_that_cannot_be_written_leaves_the_ranks(self) -> None:
        self.cache.write_text("in the way")
        done = self.inspect()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("kernels are chosen by rank", done.stderr)
        self.assertNotIn("measured: ", done.stdout)

    def test_an_unknown_policy_is_refused(self) -> None:
        done = self.inspect("fastest")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("measured, cached or ranked", done.stderr)


if __name__ == "__main__":
    unittest.main()
