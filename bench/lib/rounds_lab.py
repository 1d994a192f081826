"""Simulated steps beside those of the network lab, and a server's card."""

from functools import partial
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.lab_training import MLP, RESNET20, Trainings, Way, topology, way
from lib.lab_ways import DENSE, RATES, SERVER, trainings
from lib.netlab import Link
from lib.suite import marked

STEPS = 12
PAIRS = 5
VALUES = 1_863_690  # of the model of MLP
RANKS, SERVERS = 6, 2


def benches(where: Setting) -> list[Bench]:
    runs = trainings(where, RESNET20)
    return [*(simulated_bench(where, runs, rate, how)
              for rate in RATES for how in (DENSE, SERVER)),
            servers_bench(where, trainings(where, MLP))]


def simulated_bench(where: Setting, runs: Trainings, rate: str,
                    how: Way) -> Bench:
    bar = Bar(f"ResNet-20, {how.name}, {rate}: step simulated against the lab",
              "relative", 0.1, at_most=True)
    return Bench((bar,), partial(compare, where, runs, rate, how, bar))


def compare(where: Setting, runs: Trainings, rate: str, how: Way,
            bar: Bar) -> dict:
    steps = 6 if where.quick else STEPS
    link = Link(RATES[rate])
    prices, measured, simulated = [], [], []
    # What computing takes drifts on some processors, by more than the bar: each
    # run in the lab follows the one that prices it.
    for _ in range(1 if where.quick else PAIRS):
        # The price is found beforehand: as many processes, on hosts whose links
        # are no hindrance.
        prices.append(runs.ours(how, steps, Link(10**11)).computing_s)
        measured.append(runs.ours(how, steps, link).step_s)
        simulated.append(runs.simulated(how, steps, link, prices[-1]).step_s)
    ratios = [one / other for one, other in zip(simulated, measured)]
    gap = abs(median(ratios) - 1)
    gaps = [abs(ratio - 1) for ratio in ratios]
    return {bar.name: {
        "ours": gap, "ratio": gap, "low": min(gaps), "high": max(gaps),
        "note": marked(where, f"{1e3 * median(simulated):.0f} ms simulated, "
                       f"{1e3 * median(measured):.0f} ms in the lab, medians "
                       f"of {len(ratios)}; computing was priced at "
                       f"{1e3 * min(prices):.0f} to {1e3 * max(prices):.0f} ms"
                       )}}


def servers_bench(where: Setting, runs: Trainings) -> Bench:
    bar = Bar(f"{SERVERS} servers of {RANKS} ranks, 100 Mbit/s: both "
              "directions of a server's card", "share", 0.9)

    def measure() -> dict:
        link = Link(10**8)
        run = runs.ours(
            # Two slices of a worker under way: one that is ahead of others
            # would fill the way in, and the way out wait for the slowest.
            way("servers", policy="server", servers=SERVERS,
                bucket_bytes=60_000, slices="true", credit=120_000),
            6 if where.quick else STEPS, link, RANKS)
        # Each way a server's card carries its share of the model, once for
        # each worker.
        values = 4 * VALUES / SERVERS * (RANKS - SERVERS)
        least = values / link.payload_bytes_per_s
        step = run.step_s
        share = least / step
        return {bar.name: {"ours": share, "ratio": share, "note": marked(
            where, f"{values / 1e6:.1f} MB each way and step, "
            f"{1e3 * step:.0f} ms where the card needs {1e3 * least:.0f}")}}

    return Bench((bar,), measure)
