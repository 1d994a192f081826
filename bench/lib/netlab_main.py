"""bench/netlab: a command on several hosts with slow links."""

import argparse
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from lib.netlab import (Lab, LabError, Link, MOST_HOSTS, abandoned, remove,
                        require)
from lib.netlab_check import check

LAUNCHERS = ("mpi", "plain", "tcp")
LOSSY_SWITCH = (Path(__file__).resolve().parents[2]
                / "build/bin/weft-lossy-switch")
_RATE_UNITS = {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_TIME_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def bits_per_s(text: str) -> int:
    value, unit = _quantity(text, _RATE_UNITS)
    return round(value * unit)


def seconds(text: str) -> float:
    value, unit = _quantity(text, _TIME_UNITS)
    return value * unit


def _quantity(text: str, units: dict) -> tuple[float, float]:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]+)", text)
    if not match or match[2] not in units or float(match[1]) <= 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number and one of {', '.join(units)}")
    return float(match[1]), units[match[2]]


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a share between 0 and 1")
    return value


def hosts(text: str) -> int:
    if not text.isdecimal() or not 2 <= int(text) <= MOST_HOSTS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number from 2 to {MOST_HOSTS}")
    return int(text)


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    """The options; `command` is what follows `--`, or the word `check` or
    `clean` in `verb`."""
    ours, dashes, command = _split(list(argv))
    parser = argparse.ArgumentParser(
        prog="bench/netlab", usage="%(prog)s [options] -- COMMAND…\n"
        "       %(prog)s [options] check\n       %(prog)s clean",
        description="Runs COMMAND on several hosts with slow links, which are "
        "network namespaces of this machine. check measures the links; clean "
        "removes what a killed lab left behind (each start does so too). "
        "Needs root.")
    parser.add_argument("verb", nargs="?", choices=("check", "clean"))
    parser.add_argument("--hosts", type=hosts, default=4,
                        help="(default: %(default)s)")
    parser.add_argument("--rate", type=bits_per_s, default="100mbit",
                        help="of each link, in each direction: 10mbit, 1gbit "
                        "(default: %(default)s)")
    parser.add_argument("--delay", type=seconds, default=0.0,
                        help="of each link, in each direction: 500us, 1ms")
    parser.add_argument("--loss", type=share, default=0.0,
                        help="of packets between hosts: 0.1; needs "
                        "-DWEFT_BENCH=ON")
    parser.add_argument("--launcher", choices=LAUNCHERS, default="mpi",
                        help="mpi: under mpirun, a rank per host; plain: once "
                        "per host, with RANK, WORLD_SIZE and MASTER_ADDR in "
                        "the environment; tcp: a `weft train` or `weft run` "
                        "by ranks over Weft's own TCP (default: %(default)s)")
    options = parser.parse_args(ours)
    if bool(options.verb) == bool(dashes):
        parser.error("give either -- and a command, or check, or clean")
    if dashes and not command:
        parser.error("there is no command after --")
    options.command = command
    return options


def _split(argv: list[str]) -> tuple[list[str], bool, list[str]]:
    if "--" not in argv:
        return argv, False, []
    dashes = argv.index("--")
    return argv[:dashes], True, argv[dashes + 1:]


def report(lab: Lab) -> int:
    """Prints a line per direction of each link; 1 if one is off."""
    link, code = lab.plan.link, 0
    print(f"{lab.plan.hosts} hosts, {link.bits_per_s / 1e6:g} Mbit/s, "
          f"{2e3 * link.delay_s:g} ms both ways, "
          + (f"{link.loss:.1%} lost, " if link.loss else "") + "expected "
          f"{link.payload_bytes_per_s / 1e6:.3f} MB/s of payload")
    for found in check(lab):
        # What TCP makes of losses is its own.
        holds = link.loss > 0 or found.holds(lab)
        verdict = "" if link.loss else "ok" if holds else "OFF"
        code = code if holds else 1
        share = found.bytes_per_s / link.payload_bytes_per_s
        print(f"{found.source} to {found.target}: "
              f"{found.bytes_per_s / 1e6:.3f} MB/s ({share:.1%}), round trip "
              f"{1e3 * found.round_trip_s:.3f} ms  {verdict}")
    return code


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(sys.argv[1:] if argv is None else argv)
    # A lab is taken down on the way out of its block, so these must unwind.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        if options.verb == "clean":
            require(("ip",))
            remove(abandoned())
            return 0
        with Lab(options.hosts,
                 Link(options.rate, options.delay, options.loss),
                 LOSSY_SWITCH if LOSSY_SWITCH.exists() else None) as lab:
            if options.verb == "check":
                return report(lab)
            return lab.run(options.launcher, options.command)
    except LabError as error:
        print(f"netlab: {error}", file=sys.stderr)
        return 2
