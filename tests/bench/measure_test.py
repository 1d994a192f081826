#!/usr/bin/env python3
"""The arithmetic of races and rows, and the driver's end of a worker."""

import sys
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

from lib.bench import Bar, Bench, matcher  # noqa: E402
from lib.measure import largest_gap, race, summary  # noqa: E402
from lib.row import Row, table  # noqa: E402
from lib.worker import Worker, WorkerError  # noqa: E402

ECHO = ["-c", "import sys\nfor line in sys.stdin:\n"
        "  print('{\"said\": \"' + line.strip() + '\"}', flush=True)"]


class FixedSpeed:
    def __init__(self, work_per_second: float):
        self.speed = work_per_second
        self.blocks = 0

    def ask(self, request: str) -> dict:
        self.blocks += request == "run"
        return {"seconds": 2.0, "work": 2.0 * self.speed}


class RaceTest(unittest.TestCase):
    def test_ratio_is_the_median_of_the_pairs(self):
        result = summary([(2, 1), (9, 3), (8, 2)])
        self.assertEqual((result.ratio, result.low, result.high), (3, 2, 4))
        self.assertEqual((result.ours, result.peer), (8, 2))

    def test_both_sides_do_the_same_number_of_blocks(self):
        ours, peer = FixedSpeed(30), FixedSpeed(20)
        self.assertEqual(race(ours, peer, pairs=3).ratio, 1.5)
        self.assertEqual(ours.blocks, peer.blocks)

    def test_gap_is_relative_and_lengths_must_agree(self):
        self.assertAlmostEqual(largest_gap([1.0, 2.2], [1.0, 2.0]), 0.1)
        with self.assertRaises(ValueError):
            largest_gap([1.0], [1.0, 2.0])


class RowTest(unittest.TestCase):
    def row(self, **fields) -> Row:
        return Row("engine", "a race", "img/s", **fields)

    def test_a_bar_holds_from_its_own_value_on(self):
        self.assertTrue(self.row(bar=1.5, ratio=1.5).holds)
        self.assertFalse(self.row(bar=1.5, ratio=1.49).holds)
        self.assertTrue(self.row(bar=30, ratio=12, at_most=True).holds)
        self.assertFalse(self.row(bar=0, ratio=1, at_most=True).holds)

    def test_what_was_not_measured_does_not_hold(self):
        self.assertFalse(self.row(bar=0, at_most=True).holds)
        self.assertFalse(self.row(bar=1, ratio=2, error="no data").holds)

    def test_the_table_says_why(self):
        text = table([self.row(bar=1, error="no folder mnist")])
        self.assertIn("a race: error: no folder mnist", text)

    def test_a_failure_becomes_a_row(self):
        def fail() -> dict:
            raise FileNotFoundError("no folder ptb")
        bench = Bench((Bar("x", "ms", 1), Bar("y", "ms", 1)), fail)
        rows = bench.rows("engine", matcher("x"))
        self.assertEqual([(r.name, r.error) for r in rows],
                         [("x", "no folder ptb")])

    def test_patterns(self):
        self.assertTrue(matcher("RESNET")("resnet20 step, b128, f32"))
        self.assertFalse(matcher("resnet*bf16")("resnet20 step, b128, f32"))


class WorkerTest(unittest.TestCase):
    def test_answers_one_line_per_request(self):
        with Worker([sys.executable, *ECHO], threads=1) as worker:
            self.assertEqual(worker.ask("run"), {"said": "run"})
            self.assertEqual(worker.ask("check"), {"said": "check"})

    def test_a_dead_worker_is_an_error_with_its_command(self):
        command = [sys.executable, "-c", "input(); raise SystemExit(3)"]
        with Worker(command, threads=1) as worker:
            with self.assertRaisesRegex(WorkerError, "run: it ended with"):
                worker.ask("run")

    def test_a_silent_worker_is_an_error(self):
        command = [sys.executable, "-c", "import time; time.sleep(60)"]
        worker = Worker(command, threads=1, timeout_s=0.2)
        with self.assertRaisesRegex(WorkerError, "no answer in"):
            worker.ask("run")
        worker._process.kill()
        worker.close()

    def test_a_program_that_is_not_there_is_an_error(self):
        with self.assertRaisesRegex(WorkerError, "cannot start"):
            Worker(["/nonexistent/weft-bench"], threads=1)


if __name__ == "__main__":
    unittest.main()
