"""What goes first: P3 in the network lab, TicTac's orders on simulated
networks."""

import random
from dataclasses import replace
from functools import partial
from statistics import mean, median, stdev

from lib.bench import Bar, Bench, Setting
from lib.lab_training import (
    RESNET20, SETTLING_STEPS, Run, Trainings, Way, way)
from lib.lab_ways import trainings
from lib.netlab import Link
from lib.suite import marked

HOSTS = 4
STEPS = 24
BYTES_PER_S = 20_000_000  # of a simulated card
COMPUTING, SPREADING = 0.06, 0.05  # of a simulated step, and its deviation
# A dense layer holds most of its 2.4 million values, as in VGG: it computes
# little, and comes first on the way back.
VGG_LIKE = replace(
    RESNET20, dtype="f32", settings=(
        ("model.name", "sequential"),
        ("model.layers", '["conv2d(32)", "relu", "max-pool(2)", "conv2d(64)", '
         '"relu", "max-pool(2)", "conv2d(128)", "relu", "max-pool(2)", '
         '"flatten", "linear(1024)", "relu", "linear"]')))
PLAIN = way("no order", policy="server")
# As the paper's baseline has it: a layer that is larger than others is cut into
# as many parts as there are servers, so that no card carries all of it.
SPREAD = way("no order", policy="server", slices="true", bucket_bytes=2_400_000)
P3 = way("p3", policy="server", order="p3")
# ResNet-20 has so many values, its last convolution, and the batch norm and
# the classifier behind that.
VALUES, CONVOLUTION, BEHIND = 269_722, 3 * 3 * 64 * 64, 2 * 64 + 65 * 10
# Seeds of random orders, and what is compared with them.
SEEDS = (1, 2, 3, 4, 5)


def benches(where: Setting) -> list[Bench]:
    vgg = trainings(where, VGG_LIKE)
    resnet = trainings(where, RESNET20)
    return [*(p3_bench(where, vgg, SPREAD, "VGG-like", mbit, 1.3)
              for mbit in (200, 500, 1000)),
            *(p3_bench(where, resnet, PLAIN, "ResNet-20", mbit, 1.1)
              for mbit in (20, 50)),
            tictac_bench(where, resnet)]


def p3_bench(where: Setting, runs: Trainings, plain: Way, model: str,
             mbit: int, least: float) -> Bench:
    bar = Bar(f"P3, {model}, {HOSTS} hosts, {mbit} Mbit/s: images/s over no "
              "order", "images/s", least)
    return Bench((bar,), partial(race, where, runs, plain, mbit, bar))


def limit_of(ours: Run, plain: Run, link: Link) -> str:
    """What no order could be faster than: a step computes, and its card sends
    all of its bytes."""
    sent = median(line["bytes_sent"]
                  for line in ours.traffic[SETTLING_STEPS:])
    wire = sent / link.payload_bytes_per_s
    least = max(wire, ours.computing_s)
    return (f"a step sends {sent / 1e6:.1f} MB in {1e3 * wire:.0f} ms at least, "
            f"and computes for {1e3 * ours.computing_s:.0f} ms: no order could "
            f"have more than {plain.step_s / least:.2f} times no order's images/s")


def race(where: Setting, runs: Trainings, without: Way, mbit: int,
         bar: Bar) -> dict:
    """Both ways in turn, so that what else the machine does meets both."""
    steps = 8 if where.quick else STEPS
    pairs = []
    for _ in range(1 if where.quick else 3):
        pairs.append([runs.ours(how, steps, Link(mbit * 10**6), HOSTS,
                                launcher="tcp") for how in (P3, without)])
    ratios = sorted(plain.step_s / ours.step_s for ours, plain in pairs)
    ours, plain = pairs[0]
    same = ours.report["train_loss"] == plain.report["train_loss"]
    batch = 128
    return {bar.name: {
        "ours": batch / ours.step_s, "peer": batch / plain.step_s,
        "peer_name": "no order", "ratio": ratios[len(ratios) // 2],
        "low": ratios[0], "high": ratios[-1],
        "note": marked(where, "policy server over our TCP; losses "
                       f"{'are equal' if same else 'DIFFER'}; without: "
                       + ", ".join(f"{key} = {value}" for key, value
                                   in without.settings)
                       + "; " + limit_of(ours, plain, Link(mbit * 10**6)))}}


def simulated(where: Setting, runs: Trainings, how: Way, seed: int = 1) -> Run:
    network = f"{HOSTS}@50us,{BYTES_PER_S // 1_000_000}MB/s"
    return runs.ours(how, 8 if where.quick else STEPS, **{
        "sync.topology": f'"{network}"', "simulate.network": f'"{network}"',
        "simulate.compute": f"normal({COMPUTING}s, {SPREADING:.0%})",
        "train.seed": seed,
        "train.dtype": "f32"})


def ordered(name: str) -> Way:
    """All that an order can have, and so the same for each. A simulated card
    looks at priorities itself, and wants no credit."""
    return way(name, policy="server", order=name, slices="true",
               bucket_bytes=16_000, credit=0, overlap_forward="true")


def deviation_of_computing() -> float:
    """That of a step in seconds, on the clock of one worker, which does nothing
    but compute and wait for the slowest in each step."""
    generator = random.Random(1)
    steps, ends = [], [0.0] * HOSTS
    for _ in range(10_000):
        began = max(ends)
        before, ends = ends[0], [
            began + generator.gauss(COMPUTING, SPREADING * COMPUTING)
            for _ in range(HOSTS)]
        steps.append(ends[0] - before)
    return stdev(steps)


def shortest_step(wire: float) -> float:
    """What no order could be faster than, in seconds, where workers are in step:
    computing is charged by bytes, and from when the last convolution begins
    until its gradient is there, a card that sends for `wire` seconds has only
    what stands behind that convolution to send."""
    computing = COMPUTING * (CONVOLUTION + BEHIND) / VALUES
    return wire * (1 - BEHIND / VALUES) + computing


def tictac_bench(where: Setting, runs: Trainings) -> Bench:
    what = "ResNet-20, 4 simulated workers, 160 Mbit/s"
    gain = Bar(f"TAC, {what}: steps/s over random orders", "1/s", 1.15)
    plain = Bar(f"TAC, {what}: steps/s over the order of backward", "1/s",
                None)
    spread = Bar(f"TAC, {what}: deviation of a step over random orders'",
                 "s", 0.5, at_most=True)
    kept = Bar(f"TAC, {what}: efficiency E", "share", 0.95)

    def measure() -> dict:
        # The last one has no forward pass behind it that could overlap.
        plain_steps = slice(SETTLING_STEPS, -1)

        def steps(run: Run) -> list[float]:
            return run.step_seconds[plain_steps]

        drawn = [step for seed in SEEDS[:2 if where.quick else None]
                 for step in steps(simulated(where, runs, ordered("random"),
                                             seed))]
        backward = steps(simulated(where, runs, ordered("backward")))
        tac = simulated(where, runs, ordered("tac"))
        ours = steps(tac)
        efficiency = mean(line["efficiency"]
                          for line in tac.traffic[plain_steps])
        wire = mean(line["bytes_sent"]
                    for line in tac.traffic[plain_steps]) / BYTES_PER_S
        least = shortest_step(wire)
        computing = deviation_of_computing() / stdev(drawn)
        setting = ("each with slices and a forward pass that overlaps; "
                   f"computing takes {1e3 * COMPUTING:.0f} ms, "
                   f"{SPREADING:.0%} more or less")
        order = marked(where, f"{setting}; cards send for {1e3 * wire:.0f} ms, "
                       f"so that workers in step could by no order "
                       f"take less than {1e3 * least:.1f} ms: "
                       f"{mean(drawn) / least:.2f} times random orders' steps/s, "
                       "and an E of "
                       f"{(COMPUTING + wire - least) / COMPUTING:.2f}, if what "
                       "cards send are transfers (the log counts what is under "
                       "way)")
        waiting = marked(where, f"{setting}, of which alone a worker that waits "
                         "for the slowest in each step would have "
                         f"{computing:.2f} of random orders' deviation")
        rate = 1 / mean(ours)
        return {
            gain.name: {"ours": rate, "peer": 1 / mean(drawn),
                        "peer_name": f"random, of {len(SEEDS)} seeds",
                        "ratio": mean(drawn) / mean(ours), "note": order},
            plain.name: {"ours": rate, "peer": 1 / mean(backward),
                         "peer_name": "backward",
                         "ratio": mean(backward) / mean(ours), "note": order},
            spread.name: {"ours": stdev(ours), "peer": stdev(drawn),
                          "peer_name": "random",
                          "ratio": stdev(ours) / stdev(drawn), "note": waiting},
            kept.name: {"ours": efficiency, "ratio": efficiency,
                        "note": order}}

    return Bench((gain, plain, spread, kept), measure)
