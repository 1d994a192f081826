"""The convex check of top-k: least squares whose optimum is known
(bench/worker/convex.cpp), 1 % of the entries a step."""

import json
from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.suite import answer, marked

RATIO = 0.01
TARGET = 0.05  # of the error at the start
# Each way has the rate that suits it: what is sent late asks for a lower one.
TOPK_RATES = (0.2, 0.4, 0.8, 1.6)
RANDOM_RATES = (0.005, 0.01, 0.02, 0.04)
MOST_STEPS = 20_000
PATIENCE = 10  # times top-k's steps that others are given

BOUND = Bar("convex check, top 1 %: drift over the lemma's bound, worst step",
            "ratio", 1.0, at_most=True)
STEPS = Bar("convex check, top 1 %: fewer steps than random-k", "times", 5.0)
STALL = Bar("convex check, top 1 % without memory: error over the target",
            "times", 2.0)

# Where targets are noisy a constant rate keeps an error in proportion to it, and
# one that falls as 1 / sqrt(t) does not.
NOISE = 10.0
NOISY_RATE, NOISY_STEPS = 0.4, 40_000
FLOOR = Bar("convex check, top 1 %, noisy: floor of a rate over that of its "
            "half", "times", 1.5)
LAW = Bar("convex check, top 1 %, noisy: floor of a constant rate over that of "
          "one that falls as 1/sqrt(t)", "times", 3.0)


def benches(where: Setting) -> list[Bench]:
    return [Bench((BOUND, STEPS, STALL), partial(measure, where)),
            Bench((FLOOR, LAW), partial(measure_laws, where))]


def run(where: Setting, pipeline: str, rate: float, steps: int,
        memory: bool = True, law: str = "constant", noise: float = 0,
        target: float = TARGET) -> dict:
    return {"rate": rate} | answer(
        [where.worker, "convex", "--threads", 1, "--pipeline", pipeline,
         "--memory", json.dumps(memory), "--rate", rate, "--law", law,
         "--noise", noise, "--steps", steps, "--target", target])


def best(runs: list[dict]) -> dict:
    """The first at the target, else the nearest to it."""
    return min(runs, key=lambda each: (each["error"] > TARGET, each["steps"]
                                       if each["error"] <= TARGET
                                       else each["error"]))


def measure(where: Setting) -> dict:
    top = best([run(where, f"topk({RATIO})", rate, MOST_STEPS)
                for rate in TOPK_RATES])
    if top["error"] > TARGET:
        raise ValueError(f"top-k ends at {top['error']:.3g} of the error, "
                         f"above {TARGET}")
    late = best([run(where, f"randomk({RATIO})", rate,
                     PATIENCE * top["steps"]) for rate in RANDOM_RATES])
    bare = best([run(where, f"topk({RATIO})", rate, top["steps"], False)
                 for rate in TOPK_RATES])
    ended = "" if late["error"] <= TARGET else (
        f", at {late['error']:.3g} of the error then: more would be needed")
    times = late["steps"] / top["steps"]
    notes = {
        BOUND: (top["worst"], f"over {top['steps']} steps"),
        STEPS: (times, f"to {TARGET:.0%} of the error: {top['steps']} steps at "
                f"a rate of {top['rate']:g}, random-k {late['steps']} at "
                f"{late['rate']:g}{ended}"),
        STALL: (bare["error"] / TARGET,
                f"after the {top['steps']} steps with which top-k with memory "
                f"reaches it; best rate {bare['rate']:g}")}
    return {bar.name: {"ours": figure, "ratio": figure,
                       "note": marked(where, note)}
            for bar, (figure, note) in notes.items()}


def measure_laws(where: Setting) -> dict:
    steps = 4_000 if where.quick else NOISY_STEPS

    def floor(rate: float, law: str) -> float:
        return run(where, f"topk({RATIO})", rate, steps, law=law, noise=NOISE,
                   target=0)["floor"]

    whole, half = (floor(rate, "constant")
                   for rate in (NOISY_RATE, NOISY_RATE / 2))
    falling = floor(NOISY_RATE, "falling")
    note = marked(where, f"mean error of the last quarter of {steps} steps: "
                  f"{whole:.3g} at {NOISY_RATE:g}, {half:.3g} at its half, "
                  f"{falling:.3g} where it falls")
    return {bar.name: {"ours": figure, "ratio": figure, "note": note}
            for bar, figure in ((FLOOR, whole / half), (LAW, whole / falling))}
