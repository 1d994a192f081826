#!/usr/bin/env python3
"""The races of single ops: their table, which peer is raced, and what must agree
before."""

import sys
import unittest
from math import inf, nan
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from lib import kernels_ops  # noqa: E402
from lib.bench import Setting  # noqa: E402
from lib.op_cases import Op  # noqa: E402
from lib.op_table import CASES, OPS  # noqa: E402
from lib.peers import Peers  # noqa: E402
from lib.picture import dots  # noqa: E402
from lib.worker import WorkerError  # noqa: E402

WHERE = Setting(ROOT, ROOT / "build", None, Peers(ROOT / "build"), pairs=1)


class Side:
    """A worker of a fixed speed, or one that has no such op."""

    def __init__(self, calls_per_second: float | None, values=((1.0,),)):
        self.speed, self.values = calls_per_second, values

    def ask(self, request: str) -> dict:
        if request.startswith("run "):
            return {"seconds": 1.0, "work": self.speed}
        if self.speed is None:
            return {"absent": "no such kernel"}
        return {"values": self.values}


class Sides(dict):
    pairs = 1

    def forget(self) -> None:
        self.clear()


class TableTest(unittest.TestCase):
    def test_shapes_follow_size_and_dtype(self):
        op = Op("f", "f(a, b)", "", "", "T[N/1024, 1024] 0..4; i64[8]",
                "f32 bf16")
        names = {case.name: case for case in op.cases}
        self.assertEqual(list(names), ["f, f32, 1 MB", "f, f32, 64 MB",
                                       "f, bf16, 1 MB"])
        first = names["f, bf16, 1 MB"].inputs["a"]
        self.assertEqual((first.shape, first.low, first.high),
                         ((512, 1024), 0, 4))
        self.assertEqual(names["f, f32, 64 MB"].numbers, {"N": 2**24})
        self.assertEqual(names["f, f32, 1 MB"].inputs["b"].dtype, "i64")

    def test_an_op_with_shapes_of_its_own_has_one_size(self):
        self.assertEqual([case.name for case in Op(
            "f", "f(a)", "", "", "T[8, 8, 3, 4] kernel").cases], ["f, f32"])

    def test_a_shape_that_cannot_be_read_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "no input: 'T 8'"):
            Op("f", "f(a)", "", "", "T 8").cases

    def test_names_are_unique(self):
        self.assertEqual(len(CASES), sum(len(op.cases) for op in OPS))


class RaceTest(unittest.TestCase):
    case = Op("f", "f(a)", "f(a)", "y = F(a)", "T[8]").cases[0]

    def test_the_faster_peer_is_raced(self):
        row = kernels_ops.raced(Sides(weft=Side(30), torch=Side(10),
                                      onnx=Side(20)), self.case)
        self.assertEqual((row["peer_name"], row["ratio"]), ("onnxruntime", 1.5))
        self.assertIn("PyTorch: 1e+05 µs", row["note"])

    def test_a_peer_without_the_op_is_said(self):
        row = kernels_ops.raced(Sides(weft=Side(30), torch=Side(10),
                                      onnx=Side(None)), self.case)
        self.assertEqual((row["peer_name"], row["ratio"]), ("PyTorch", 3))
        self.assertEqual(row["note"], "onnxruntime: no such kernel")

    def test_other_numbers_are_an_error_and_end_the_processes(self):
        sides = Sides(weft=Side(30), torch=Side(10, ((2.0,),)),
                      onnx=Side(None))
        with self.assertRaisesRegex(WorkerError, "PyTorch's"):
            kernels_ops.measure(sides, self.case, {})
        self.assertFalse(sides)

    def test_the_mean_is_of_all_ops_or_of_none(self):
        with self.assertRaisesRegex(WorkerError, "were not measured"):
            kernels_ops.mean(WHERE, {name: 1.0 for name in list(CASES)[1:]})
        row = kernels_ops.mean(WHERE, {name: 2.0 if at % 2 else 8.0 for
                                       at, name in enumerate(CASES)})
        got = row[kernels_ops.MEAN.name]["ratio"]
        self.assertAlmostEqual(got, 4, delta=0.02)


class GapTest(unittest.TestCase):
    def test_it_is_a_part_of_the_largest_number(self):
        self.assertAlmostEqual(kernels_ops.scaled_gap([0.1, 10], [0, 10]), 0.01)
        self.assertEqual(kernels_ops.scaled_gap([nan, inf], [nan, inf]), 0)
        self.assertEqual(kernels_ops.scaled_gap([1], [-1], True), 0)
        self.assertEqual(kernels_ops.scaled_gap([1, 2], [1]), inf)
        self.assertFalse(kernels_ops.scaled_gap([nan], [1]) <= 1)


class PictureTest(unittest.TestCase):
    def test_dots_are_sorted_and_coloured_by_side(self):
        text = dots("Ops", "times", {"slow": 0.5, "a & b": 2.0})
        self.assertLess(text.index("a &amp; b"), text.index("slow"))
        self.assertEqual(text.count("<circle"), 2)


if __name__ == "__main__":
    unittest.main()
