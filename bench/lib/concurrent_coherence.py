"""The bars of the simulated machine: what it predicts for two cores beside what
two cores do, and where one word stops to scale and many do not."""

from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.picture import chart
from lib.suite import answer, draw, marked

STEPS = 20_000  # of each thread in a repetition, of which a round has nine
ROUNDS = 15
WORK_UNITS = 60  # dependent multiplications between operations

HEAD = "array with a fetch-and-add head"
LOADS = ("fetch-and-add counter", "MultiCounter", HEAD, "MultiQueue")

FLAT = Bar(f"simulated {HEAD}: steps/s on 72 cores / 8 cores", "x", 1.1,
           at_most=True)
GROWS = Bar("simulated MultiQueue: steps/s on 72 cores / 8 cores", "x", 6.0)
BEATS = Bar(f"simulated, 72 cores: MultiQueue / {HEAD}", "x", 2.0)


def prediction(load: str) -> Bar:
    return Bar(f"{load} on 2 cores: |simulated / measured - 1|", "", 0.2,
               at_most=True)


def benches(where: Setting) -> list[Bench]:
    bars = (*map(prediction, LOADS), FLAT, GROWS, BEATS)
    return [Bench(bars, partial(measure, where))]


def measure(where: Setting) -> dict:
    found = answer([where.concurrent_worker, "coherence",
                    "--steps", STEPS, "--rounds", 3 if where.quick else ROUNDS,
                    "--work-units", WORK_UNITS])
    loads = {load["name"]: load for load in found["loads"]}
    draw(where, "coherence-scaling", chart(
        "Simulated throughput", "cores", "steps per us",
        {name.removeprefix("array with a "): load["scaling"]
         for name, load in loads.items()},
        log_x=True, log_y=True))
    costs = ", ".join(f"{name} {cost:.1f}"
                      for name, cost in found["costs"].items()
                      if name != "migrates")
    rows = {prediction(name): compared(loads[name], costs) for name in LOADS}
    rate = {name: dict(map(tuple, load["scaling"]))
            for name, load in loads.items()}
    scaled = "; ".join(
        f"{name}: " + ", ".join(f"{cores}: {rate[name][cores]:.1f}"
                                for cores in (1, 2, 8, 72, 128))
        for name in (HEAD, "MultiQueue"))
    note = f"steps/us by cores: {scaled}"
    rows[FLAT] = rate[HEAD][72] / rate[HEAD][8], note
    rows[GROWS] = rate["MultiQueue"][72] / rate["MultiQueue"][8], note
    rows[BEATS] = rate["MultiQueue"][72] / rate[HEAD][72], note
    return {bar.name: {"ours": value, "ratio": value,
                       "note": marked(where, note)}
            for bar, (value, note) in rows.items()}


def compared(load: dict, costs: str) -> tuple[float, str]:
    """How far off the middle round is. Each round calibrates by loads that are
    none of these, and compares with what it measures next to that."""
    return abs(load["ratio"] - 1), (
        f"simulated / measured {load['ratio']:.2f} ({load['ratio_low']:.2f} - "
        f"{load['ratio_high']:.2f} in the middle half of the rounds); ns per "
        f"step of each thread: {load['real_1_ns']:.0f} alone, "
        f"{load['real_2_ns']:.0f} with another ({load['real_2_low_ns']:.0f} - "
        f"{load['real_2_high_ns']:.0f}), simulated "
        f"{load['simulated_2_ns']:.0f}; costs measured: {costs}")
