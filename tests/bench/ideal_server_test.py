#!/usr/bin/env python3
"""What a server without a fault makes of requests."""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent))

from ideal_server import IdealServer, arrivals, tail  # noqa: E402

REQUESTS = 100_000
# Runs and intervals of a ratio that is no short fraction meet at all phases.
ALL_PHASES = 1.001
ROWS = re.compile(r"^\|.*?([\d.]+ requests a run|one by one).*\| ([\d.]+) \| ([\d.]+) \|$",
                  re.MULTILINE)


class LatencyTest(unittest.TestCase):
    def test_one_by_one_waits_for_the_one_before(self):
        self.assertEqual(IdealServer(2, 1).latencies([0, 1, 10]), [2, 3, 2])

    def test_a_run_takes_along_what_waits(self):
        server = IdealServer(4)
        self.assertEqual(server.latencies([0, 1, 4, 5]), [4, 7, 4, 7])

    def test_a_run_takes_no_more_than_it_may(self):
        server = IdealServer(4, 2)
        self.assertEqual(server.latencies([0, 1, 2, 3]), [4, 7, 6, 9])


class TailTest(unittest.TestCase):
    def test_it_is_taken_as_the_load_takes_it(self):
        self.assertEqual(tail([3, 1, 2]), 1)  # the second over the second
        self.assertEqual(tail(range(1, 102)), 100 / 51)

    def test_the_page_has_the_tails_of_both_laws(self):
        page = (ROOT / "docs/results/serving.md").read_text()
        rows = ROWS.findall(page)
        self.assertEqual(len(rows), 4)
        for name, *told in rows:
            server = (IdealServer(0.7, 1) if name == "one by one" else
                      IdealServer(float(name.split()[0]) * ALL_PHASES))
            for law, figure in zip(("even", "poisson"), told):
                found = tail(server.latencies(arrivals(law, 1, REQUESTS)))
                self.assertAlmostEqual(found, float(figure), delta=0.04,
                                       msg=f"{name}, {law}")


if __name__ == "__main__":
    unittest.main()
