#!/usr/bin/env python3
"""What a server without a fault makes of requests, and of stalls."""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from lib.ideal_server import (IdealServer, arrivals, best_tail,  # noqa: E402
                              tail)

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

    def test_a_run_stands_still_in_a_stall(self):
        server = IdealServer(2, 1)
        self.assertEqual(server.latencies([0, 10, 20], [(1, 3), (11.5, 1)]),
                         [5, 3, 2])

    def test_a_stall_that_begins_in_what_another_puts_off_counts_too(self):
        server = IdealServer(2, 1)
        self.assertEqual(server.latencies([0], [(1, 3), (4.5, 2)]), [7])

    def test_none_begins_in_a_stall_and_those_that_come_meanwhile_wait(self):
        server = IdealServer(2)
        self.assertEqual(server.latencies([1, 3, 9], [(0, 4)]), [5, 3, 2])

    def test_a_stall_in_which_nobody_waits_costs_nothing(self):
        self.assertEqual(IdealServer(1).latencies([0, 9], [(2, 3)]), [1, 1])


class TailTest(unittest.TestCase):
    def test_it_is_taken_as_the_load_takes_it(self):
        self.assertEqual(tail([3, 1, 2]), 1)  # the second over the second
        self.assertEqual(tail(range(1, 102)), 100 / 51)

    def test_the_processor_that_stalls_least_counts(self):
        server, due = IdealServer(1), [0, 10, 20]
        stalled = [(0.5, 1), (10.5, 4)]
        self.assertEqual(best_tail(server, due, [stalled, []]), 1)
        self.assertEqual(best_tail(server, due, [stalled, stalled]),
                         tail(server.latencies(due, stalled)))

    def test_a_server_of_a_median_has_that_median(self):
        server = IdealServer.with_median(0.003, 2000)
        self.assertEqual(server, IdealServer(0.002, 4))
        latencies = server.latencies(arrivals("even", 1402, 50))
        middle = sorted(latencies)[len(latencies) // 2]
        self.assertAlmostEqual(middle, 0.003, delta=0.00005)

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
