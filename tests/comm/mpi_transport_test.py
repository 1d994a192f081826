#!/usr/bin/env python3
"""Ranks that are processes: weft-mpi-checks under mpirun."""

import os
import re
import select
import signal
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("WEFT_BIN", ROOT / "build" / "bin" / "weft")).parent
CHECKS = BIN / "weft-mpi-checks"
RANKS = 4
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def start(check: str) -> subprocess.Popen:
    try:
        return subprocess.Popen(
            ["mpirun", "--oversubscribe", "-n", str(RANKS), str(CHECKS),
             check], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=ENVIRONMENT)
    except FileNotFoundError:
        raise AssertionError("mpirun is not installed; it is in the package "
                             "openmpi-bin (tools/packages.txt)") from None


def ends(process: int, seconds: float) -> bool:
    """Whether the process of this descriptor (pidfd_open) ends in time.

    mpirun kills its processes and does not wait until the last is dead, so
    that one may be dying still when mpirun has ended.
    """
    readable, _, _ = select.select([process], [], [], seconds)
    return bool(readable)


class MpiTransportTest(unittest.TestCase):
    def finish(self, process: subprocess.Popen) -> tuple[str, str]:
        try:
            return process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            self.fail(f"still running:\n{output}\n{errors}")

    def succeed(self, check: str) -> None:
        process = start(check)
        output, errors = self.finish(process)
        self.assertEqual(process.returncode, 0, output + errors)
        for rank in range(RANKS):
            self.assertIn(f"rank {rank}: fine", output)

    def refuse(self, check: str) -> str:
        process = start(check)
        output, errors = self.finish(process)
        self.assertNotEqual(process.returncode, 0, output + errors)
        return errors

    def test_many_operations_in_flight(self) -> None:
        self.succeed("sums")

    def test_groups_run_side_by_side(self) -> None:
        self.succeed("groups")

    def test_short_messages_and_messages_to_oneself(self) -> None:
        self.succeed("sizes")

    def test_messages_that_may_arrive_in_part(self) -> None:
        self.succeed("lossy")

    def test_small_and_large_messages_keep_their_order(self) -> None:
        self.succeed("order")

    def test_a_thread_for_the_network(self) -> None:
        self.succeed("async")

    def test_a_message_longer_than_its_room(self) -> None:
        errors = self.refuse("truncation")
        self.assertIn("from rank 0 is longer than the 12 bytes expected",
                      errors)
        self.assertIn("give of i32[3] 'b'", errors)

    def test_a_message_that_mpi_cannot_count(self) -> None:
        errors = self.refuse("too_large")
        self.assertIn("MPI counts bytes in 31 bits; a message has 2147483648",
                      errors)
        self.assertIn("send it in several messages", errors)

    def test_both_sides_of_a_mismatch(self) -> None:
        errors = self.refuse("mismatch")
        self.assertIn("different operations", errors)
        self.assertIn("add_up of f32[10] 'a'", errors)
        self.assertIn("rank 2: add_up of f32[10] 'b'", errors)

    def test_a_failure_reaches_all_with_its_reason(self) -> None:
        self.assertIn("rank 1: step 7: the loss is nan",
                      self.refuse("failure"))

    def test_a_recursion_and_its_gradient_in_parts(self) -> None:
        self.succeed("parts")

    def test_parts_exchange_large_tensors(self) -> None:
        self.succeed("large_parts")

    def test_an_error_of_a_part_reaches_all_with_its_calls(self) -> None:
        errors = self.refuse("endless_part")
        self.assertIn("rank 2: @endless: more than 1000 activations", errors)
        self.assertIn("called by @endless", errors)

    def test_all_end_when_one_is_killed(self) -> None:
        process = start("death")
        processes = {}
        for _ in range(RANKS):
            line = process.stdout.readline()
            self.assertTrue(line, process.stderr.read() if not line else "")
            rank, number = re.match(r"rank (\d) is process (\d+)",
                                    line).groups()
            processes[int(rank)] = os.pidfd_open(int(number))
            self.addCleanup(os.close, processes[int(rank)])
        signal.pidfd_send_signal(processes[1], signal.SIGKILL)
        _, errors = self.finish(process)
        self.assertNotEqual(process.returncode, 0)
        self.assertRegex(errors, r"rank [023]: rank 1: is lost")
        self.assertIn("waiting to hear rank 1 40 bytes, in broadcast of "
                      "i32[10] 'conv1'", errors)
        for rank, one in processes.items():
            self.assertTrue(ends(one, 60), f"rank {rank} runs on:\n{errors}")

    def test_alone_there_is_no_network(self) -> None:
        done = subprocess.run([CHECKS, "sums"], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, "alone\n"))


if __name__ == "__main__":
    sys.exit(unittest.main())
