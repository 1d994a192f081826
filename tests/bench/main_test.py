#!/usr/bin/env python3
"""bench/run: lists, measures, keeps, and ends with the right code."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from functools import partial
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import suites  # noqa: E402
from lib import main as command  # noqa: E402
from lib.bench import Bar, Bench  # noqa: E402


class MainTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.json = Path(folder.name) / "engine.json"
        self.figures = {"a": 2.0, "b": 2.0}
        suite = mock.Mock()
        suite.benches = lambda where: [
            Bench((Bar(name, "ms", 1.0),), partial(self.measure, name))
            for name in self.figures]
        patch = mock.patch.object(suites, "load", lambda name: suite)
        patch.start()
        self.addCleanup(patch.stop)

    def measure(self, name: str) -> dict:
        if self.figures[name] is None:
            raise KeyboardInterrupt
        return {name: {"ours": self.figures[name],
                       "ratio": self.figures[name]}}

    def run_bench(self, *words: str) -> int:
        with contextlib.redirect_stdout(io.StringIO()) as printed, \
                contextlib.redirect_stderr(io.StringIO()) as self.said:
            code = command.main(["engine", "--no-build", *words])
        self.printed = printed.getvalue()
        return code

    def kept(self) -> dict:
        return {row["name"]: row for row in
                json.loads(self.json.read_text())["rows"]}

    def test_the_machine_is_said(self):
        self.assertEqual(self.run_bench(), 0)
        self.assertIn("bench: on ", self.said.getvalue())

    def test_rows_are_listed_without_measuring(self):
        self.assertEqual(self.run_bench("--list"), 0)
        self.assertEqual(self.printed, "a\nb\n")

    def test_one_row_can_be_measured_anew(self):
        self.run_bench("--json", str(self.json))
        before = self.kept()
        self.figures["a"] = 3.0
        self.run_bench("--json", str(self.json), "--only", "a", "--quick")
        self.assertEqual(self.kept()["a"]["ours"], 3.0)
        self.assertTrue(self.kept()["a"]["provenance"]["quick"])
        self.assertEqual(self.kept()["b"], before["b"])

    def test_what_was_measured_is_kept_though_the_rest_is_interrupted(self):
        self.figures["b"] = None
        with self.assertRaises(KeyboardInterrupt):
            self.run_bench("--json", str(self.json))
        self.assertEqual(list(self.kept()), ["a"])

    def test_no_row_is_bad_usage(self):
        self.assertEqual(self.run_bench("--only", "nothing"), 2)


if __name__ == "__main__":
    unittest.main()
