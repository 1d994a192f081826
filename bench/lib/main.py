"""bench/run: builds, measures the suites asked for, prints, writes JSON."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

import suites
from lib.bench import Setting, matcher
from lib.build import build
from lib.machine import has, line_of, machine
from lib.peers import Peers
from lib.results import (
    DEFAULT_PAIRS, DEFAULT_THREADS, load, merge, provenance_from_now, save)
from lib.row import Row, table

ROOT = Path(__file__).resolve().parents[2]


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench/run", description="Weft against its bars and its peers. "
        "Exit code 0: every bar holds, 1: one falls short, 2: bad usage.")
    parser.add_argument("suites", nargs="*", metavar="SUITE",
                        help=f"of: {', '.join(suites.names())} (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE",
                        help="also put the rows there; those that it has of "
                        "other names and processors stay")
    parser.add_argument("--data", type=Path, metavar="DIR",
                        default=os.environ.get("WEFT_DATA"),
                        help="the data sets (default: WEFT_DATA)")
    parser.add_argument("--only", metavar="PATTERN",
                        help="rows whose name holds or matches this")
    parser.add_argument("--pairs", type=int, default=DEFAULT_PAIRS,
                        help="blocks of each side (default: %(default)s)")
    parser.add_argument("--threads", type=int,
                        default=DEFAULT_THREADS)
    parser.add_argument("--quick", action="store_true",
                        help="fewer steps where a row takes many; such rows "
                        "say so")
    parser.add_argument("--pictures", type=Path, metavar="DIR",
                        help="draw what can be drawn there")
    parser.add_argument("--fresh-curves", action="store_true",
                        help="train curves anew that other sources than "
                        "today's have trained (hours)")
    parser.add_argument("--list", action="store_true",
                        help="print the rows' names and stop")
    parser.add_argument("--build", type=Path, default=ROOT / "build",
                        help="the build folder (default: build)")
    parser.add_argument("--no-build", action="store_true",
                        help="measure what is built already")
    options = parser.parse_args(argv)
    for name in options.suites:
        if name not in suites.names():
            parser.error(f"no suite {name!r}; there are: "
                         f"{', '.join(suites.names())}")
    options.suites = options.suites or suites.names()
    return options


def setting(options: argparse.Namespace) -> Setting:
    folder = options.build.resolve()
    # Relative paths are taken from where the user stands, workers from ROOT.
    data = Path(options.data).resolve() if options.data else None
    return Setting(ROOT, folder, data, Peers(folder / "peers"),
                   options.threads, options.pairs, options.quick,
                   options.pictures, options.fresh_curves)


def measure(options: argparse.Namespace, where: Setting) -> list[Row]:
    """Keeps what each bench has found at once: a suite may take hours."""
    wanted, rows = matcher(options.only), []
    provenance = provenance_from_now(where)
    for suite in options.suites:
        benches = suites.load(suite).benches(where)
        listed = {suite: {bar.name for bench in benches for bar in bench.bars}}
        for bench in benches:
            name = bench.bars[0].name
            if any(wanted(bar.name) for bar in bench.bars):
                if bench.cap and not has(bench.cap):
                    print(f"bench: left out, as this machine has no "
                          f"{bench.cap}: {name}", file=sys.stderr)
                    continue
                print(f"bench: {name}", file=sys.stderr)
                found = bench.rows(suite, wanted)
                if options.json:
                    keep(options.json, found, listed, provenance)
                rows += found
    return rows


def keep(path: Path, rows: list[Row], listed: dict[str, set[str]],
         provenance: Callable[[Row], dict]) -> None:
    measured = [{**row.as_json(), "provenance": provenance(row)}
                for row in rows]
    save(path, merge(load(path), measured, listed,
                     lambda text: print(f"bench: {text}", file=sys.stderr)))


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    # A shell that names a core for OpenBLAS would bound one side's products.
    os.environ.pop("OPENBLAS_CORETYPE", None)
    where = setting(options)
    if options.list:
        for suite in options.suites:
            for bench in suites.load(suite).benches(where):
                print("\n".join(bar.name for bar in bench.bars))
        return 0
    print(f"bench: on {line_of(machine())}", file=sys.stderr)
    if not options.no_build and (problem := build(ROOT, where.build)):
        print(f"bench: {problem}", file=sys.stderr)
        return 1
    with where.open:
        rows = measure(options, where)
    if not rows:
        print(f"bench: no row matches {options.only!r}; see --list",
              file=sys.stderr)
        return 2
    print(table(rows))
    return 0 if all(row.holds for row in rows) else 1
