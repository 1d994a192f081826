"""Training where one packet in ten is lost: gradients in part, as datagrams,
beside TCP Reno, in the lab and on simulated networks."""

from functools import cache, partial

from lib.bench import Bar, Bench, Setting
from lib.lab_training import MLP, Run, Trainings, Way, steps_to, way
from lib.lab_ways import trainings
from lib.netlab import Link
from lib.suite import marked

LOSS = 0.1
RATE = 10**8
HOSTS = 4
LAB_STEPS = 12
CURVE_STEPS = 938  # two epochs
ACCURACY = 0.9
# What the formula of the simulator wants for Linux's TCP (docs/networks.md).
TCP_TIMEOUT = 0.03  # seconds

WHOLE = way("gradients whole", policy="server")
IN_PART = way("in part", policy="server(in_part=true)", rule="average_nan")


def benches(where: Setting) -> list[Bench]:
    runs = trainings(where, MLP)
    return [bench(where, runs, "in the lab", in_lab),
            bench(where, runs, "simulated", simulated)]


def bench(where: Setting, runs: Trainings, how: str, measure) -> Bench:
    gain = Bar(f"MNIST, {HOSTS} workers, 10 % lost, {how}: seconds to "
               f"{ACCURACY:.0%} over TCP's", "seconds", 3)
    equal = Bar(f"MNIST, {HOSTS} workers, 10 % lost, {how}: accuracy less "
                "than TCP's", "points", 1, at_most=True)
    return Bench((gain, equal), partial(compare, where, runs, how, measure,
                                        gain, equal))


@cache
def curve(where: Setting, runs: Trainings, how: Way) -> Run:
    """Steps and accuracy: what is trained depends on what is lost, and on no
    time."""
    steps = CURVE_STEPS // 2 if where.quick else CURVE_STEPS
    network = f"{HOSTS}@90us,11947820B/s"
    return runs.ours(how, steps, **{
        "sync.topology": f'"{network}"', "simulate.network": f'"{network}"',
        "simulate.compute": "constant(10ms)", "simulate.loss": LOSS,
        "simulate.tcp_timeout": TCP_TIMEOUT})


def in_lab(where: Setting, runs: Trainings, how: Way) -> float:
    """Seconds of a step on hosts whose switch loses packets."""
    steps = 8 if where.quick else LAB_STEPS
    options = "datagrams=true" if how is IN_PART else ""
    return runs.ours(how, steps, Link(RATE, loss=LOSS), HOSTS,
                     launcher=f"tcp({options})").step_s


def simulated(where: Setting, runs: Trainings, how: Way) -> float:
    return curve(where, runs, how).step_s


def compare(where: Setting, runs: Trainings, name: str, measure,
            gain: Bar, equal: Bar) -> dict:
    found = {}
    for how in (WHOLE, IN_PART):
        points = curve(where, runs, how).curve
        found[how] = (measure(where, runs, how), points)
    seconds = {how: step * steps_to(ACCURACY, points)
               for how, (step, points) in found.items()}
    last = {how: 100 * points[-1][1] for how, (_, points) in found.items()}
    ratio = seconds[WHOLE] / seconds[IN_PART]
    less = last[WHOLE] - last[IN_PART]
    note = marked(where, f"a step takes {1e3 * found[IN_PART][0]:.0f} ms, "
                  f"{1e3 * found[WHOLE][0]:.0f} over TCP")
    return {gain.name: {"ours": seconds[IN_PART], "peer": seconds[WHOLE],
                        "peer_name": "TCP Reno", "ratio": ratio, "note": note},
            equal.name: {"ours": last[IN_PART], "peer": last[WHOLE],
                         "peer_name": "TCP Reno", "ratio": less, "note": marked(
                             where, "held out, after "
                             f"{found[WHOLE][1][-1][0]} steps")}}
