#!/usr/bin/env python3
"""The network lab, as far as it needs no root: options, commands, leftovers."""

import contextlib
import io
import os
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

from lib import netlab, netlab_main  # noqa: E402
from lib.netlab import Lab, LabError, Link, Plan  # noqa: E402

FAST = Link(1_000_000_000)
SLOW = Link(10_000_000, delay_s=0.001)


def lines(commands: list[list[str]]) -> list[str]:
    return [" ".join(command) for command in commands]


class OptionsTest(unittest.TestCase):
    def refused(self, *argv: str) -> str:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit):
            netlab_main.arguments(argv)
        return said.getvalue()

    def test_the_command_is_what_follows_the_dashes(self):
        options = netlab_main.arguments(
            ["--hosts", "3", "--rate", "10mbit", "--", "weft", "--", "-x"])
        self.assertEqual(options.command, ["weft", "--", "-x"])
        self.assertEqual((options.hosts, options.rate), (3, 10_000_000))
        self.assertEqual(options.launcher, "mpi")

    def test_units(self):
        self.assertEqual(netlab_main.bits_per_s("2.5gbit"), 2_500_000_000)
        self.assertEqual(netlab_main.bits_per_s("64kbit"), 64_000)
        self.assertAlmostEqual(netlab_main.seconds("500us"), 0.0005)

    def test_what_makes_no_sense_is_refused(self):
        self.assertIn("'100' is not a number and one of kbit",
                      self.refused("--rate", "100", "check"))
        self.assertIn("'0mbit'", self.refused("--rate", "0mbit", "check"))
        self.assertIn("'1mbit'", self.refused("--delay", "1mbit", "check"))
        self.assertIn("from 2 to 64", self.refused("--hosts", "1", "check"))
        for loss in ("0", "1", "2", "some"):
            self.assertIn("not a share", self.refused("--loss", loss, "check"))
        self.assertIn("no command after --", self.refused("--"))
        self.assertIn("give either", self.refused())
        self.assertIn("give either", self.refused("check", "--", "true"))


class PlanTest(unittest.TestCase):
    plan = Plan("weftlab-77", 2, SLOW)

    def test_everything_is_made_inside_namespaces_of_the_lab(self):
        for line in lines(self.plan.setup()):
            made = line.startswith(("ip netns add weftlab-77-",
                                    "ip netns exec weftlab-77-"))
            inside = any(line.startswith(f"{tool} -n weftlab-77-")
                         for tool in ("ip", "tc"))
            self.assertTrue(made or inside, line)

    def test_both_ends_of_each_link_are_limited(self):
        limited = [line for line in lines(self.plan.setup())
                   if " tbf rate 10000000bit " in line]
        ends = [" ".join(line.split()[2:7]) for line in limited]
        self.assertEqual(ends, [
            f"weftlab-77-{place} qdisc add dev {device}"
            for place, device in (("host0", "eth0"), ("switch", "port0"),
                                  ("host1", "eth0"), ("switch", "port1"))])

    def test_all_hosts_run_the_same_tcp(self):
        chosen = [line.split()[3] for line in lines(self.plan.setup())
                  if line.endswith("net.ipv4.tcp_congestion_control=reno")]
        self.assertEqual(chosen, ["weftlab-77-host0", "weftlab-77-host1"])

    def test_a_delay_counts_once_in_each_direction(self):
        delays = [line for line in lines(self.plan.setup())
                  if "netem delay 1000us" in line]
        self.assertEqual(len(delays), 2)
        self.assertTrue(all("dev eth0 parent 1:1" in d for d in delays))
        fast = lines(Plan("weftlab-77", 2, FAST).setup())
        self.assertFalse(any("netem" in line for line in fast))

    def test_a_burst_is_a_millisecond_but_some_whole_frames(self):
        self.assertEqual(FAST.burst_bytes, 125_000)
        self.assertEqual(SLOW.burst_bytes, 4 * 1514)

    def test_nothing_is_sent_at_once_that_a_burst_could_not_hold(self):
        for link in (FAST, SLOW, Link(200 * 10**6)):
            frames = link.send_bytes / 1448
            self.assertLessEqual(frames * 1514, link.burst_bytes)
        self.assertEqual(FAST.send_bytes, 2**16)
        self.assertEqual(SLOW.send_bytes, 4 * 1448)

    def test_mpirun_starts_one_rank_per_host_over_tcp(self):
        enter, lab, host, command = self.plan.mpirun(["a b", "c"])
        self.assertEqual((Path(enter).name, lab, host),
                         ("netlab-enter", "weftlab-77", "host0"))
        self.assertTrue(os.access(enter, os.X_OK))
        for part in ("mpirun -n 2 --host host0:1,host1:1 ",
                     "--mca btl tcp,self ", "--mca btl_tcp_if_include eth0 ",
                     f"--mca plm_rsh_agent '{enter} weftlab-77' "):
            self.assertIn(part, command)
        self.assertTrue(command.endswith(" 'a b' c"), command)

    def test_the_plain_launcher_tells_each_host_who_it_is(self):
        self.assertEqual(self.plan.plain(1), {
            "RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "0",
            "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29500",
            "GLOO_SOCKET_IFNAME": "eth0"})

    def test_a_rank_has_one_thread_unless_told_otherwise(self):
        with mock.patch.dict(os.environ, clear=True):
            made = netlab.lab_environment()
            self.assertEqual(made["OMP_NUM_THREADS"], "1")
            self.assertEqual(made["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"], "1")
        with mock.patch.dict(os.environ, {"OMP_NUM_THREADS": "2"}):
            self.assertEqual(netlab.lab_environment()["OMP_NUM_THREADS"], "2")


class FakeMachine:
    """Namespaces by name; remembers the commands that it was given."""

    def __init__(self, *spaces: str, fails: str = "", says: str = ""):
        self.spaces, self.commands = list(spaces), []
        self.fails, self.says = fails, says

    def run(self, command: list[str], **_) -> subprocess.CompletedProcess:
        line = " ".join(command)
        self.commands.append(line)
        if self.fails and self.fails in line:
            return subprocess.CompletedProcess(command, 1, "", self.says)
        if line.startswith("ip netns add "):
            self.spaces.append(command[-1])
        if line.startswith("ip netns delete "):
            self.spaces.remove(command[-1])
        return subprocess.CompletedProcess(command, 0, "", "")

    def present(self, name: str | None = None) -> list[str]:
        return [s for s in self.spaces if not name or s.startswith(f"{name}-")]

    def __enter__(self):
        patches = {"present": self.present, "require": lambda tools: None}
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(mock.patch.multiple(netlab, **patches))
        self._stack.enter_context(
            mock.patch.object(netlab.subprocess, "run", self.run))
        return self

    def __exit__(self, *failure):
        return self._stack.__exit__(*failure)


def ended_process() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


class CleanupTest(unittest.TestCase):
    def test_only_our_names_are_ours(self):
        self.assertEqual(netlab.maker("weftlab-12-host3"), 12)
        self.assertEqual(netlab.maker("weftlab-12-switch"), 12)
        for other in ("weftlab-12", "weftlab-x-host3", "myweftlab-12-host3",
                      "weftlab-12-host3-more", "blue"):
            self.assertIsNone(netlab.maker(other), other)

    def test_the_labs_of_ended_processes_go_and_no_others(self):
        gone = f"weftlab-{ended_process()}-host0"
        alive = f"weftlab-{os.getpid()}-host0"
        with FakeMachine("blue", gone, "weftlab-mine", alive) as machine:
            netlab.remove(netlab.abandoned())
            self.assertEqual(machine.spaces, ["blue", "weftlab-mine", alive])

    def test_removing_what_is_not_ours_does_nothing(self):
        with FakeMachine("blue") as machine:
            netlab.remove(["blue"])
            self.assertEqual(machine.commands, [])

    def test_a_lab_leaves_nothing(self):
        with FakeMachine("blue") as machine:
            with self.assertRaises(KeyboardInterrupt):
                with Lab(3, FAST):
                    self.assertEqual(len(machine.spaces), 5)
                    raise KeyboardInterrupt
            self.assertEqual(machine.spaces, ["blue"])

    def test_a_lab_that_cannot_be_made_leaves_nothing(self):
        with FakeMachine(fails="host1 link set lo up",
                         says="no room") as machine:
            with self.assertRaisesRegex(LabError, "no room"):
                Lab(3, FAST).__enter__()
            self.assertEqual(machine.spaces, [])

    def test_a_kernel_without_netem_is_named(self):
        says = "Error: Specified qdisc kind is unknown."
        with FakeMachine(fails="netem", says=says):
            with self.assertRaisesRegex(LabError, "leave --delay out"):
                Lab(2, SLOW).__enter__()

    def test_a_host_that_fails_ends_the_others(self):
        lab = Lab(3, FAST)
        command = ["sh", "-c", "test $RANK = 1 && exit 5; exec sleep 600"]
        with mock.patch.object(Plan, "enter", lambda _, number, what: what):
            self.assertEqual(lab.run("plain", command), 5)

    def test_who_is_not_root_is_told_so(self):
        with (mock.patch.object(os, "geteuid", return_value=1000),
              self.assertRaisesRegex(LabError, "needs root")):
            netlab.require(())

    def test_a_missing_tool_is_named(self):
        with (mock.patch.object(os, "geteuid", return_value=0),
              self.assertRaisesRegex(LabError, "no program 'no-such-tool'")):
            netlab.require(("no-such-tool",))


if __name__ == "__main__":
    unittest.main()
