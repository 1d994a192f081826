"""Liars within the noise, on a convex problem whose optimum is known
(bench/worker/in_noise.cpp): what rules with a memory are for."""

import math
from functools import cache

from lib.bench import Bar, Bench, Setting
from lib.picture import chart
from lib.suite import answer, draw, marked

WORKERS, LIARS = 100, 20
SIZE = 10
DELTA = 0.05
# Theory's thresholds are far above what right workers reach: see "lost" below.
CALIBRATION = 0.25


def horizons(where: Setting) -> tuple[int, ...]:
    return (100, 1000, 4000) if where.quick else (100, 1000, 10_000, 100_000)


def rate(workers: int, alpha: float, steps: int) -> float:
    """The step size that the bound asks for, with V = D = L = 1."""
    log = math.log(16 * workers * steps / DELTA)
    return min(0.5, 1 / math.sqrt(steps * (8 * log / workers
                                           + 32 * alpha ** 2)))


def byzantine(steps: int, calibration: float, alpha: float) -> str:
    return (f"byzantine_sgd(alpha={alpha}, v=1, d=1, horizon={steps}, "
            f"delta={DELTA}, calibration={calibration})")


@cache
def run(where: Setting, rule: str, workers: int, liars: int, steps: int,
        runs: int) -> dict:
    return answer([where.worker, "in-noise", "--threads", 1, "--rule", rule,
                   "--workers", workers, "--liars", liars, "--size", SIZE,
                   "--steps", steps, "--rate",
                   rate(workers, liars / workers, steps), "--runs", runs])


def error(where: Setting, rule: str, steps: int) -> float:
    if rule == "byzantine_sgd":
        rule = byzantine(steps, CALIBRATION, 0.25)
    return run(where, rule, WORKERS, LIARS, steps,
               4 if steps <= 10_000 else 1)["error"]


def slope(errors: list[float], steps: tuple[int, ...]) -> float:
    """That of the line through log error over log steps, by least squares."""
    x = [math.log(each) for each in steps]
    y = [math.log(each) for each in errors]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return (sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
            / sum((a - mean_x) ** 2 for a in x))


def benches(where: Setting) -> list[Bench]:
    return [rates_bench(where), survival_bench(where), workers_bench(where)]


def rates_bench(where: Setting) -> Bench:
    others = (f"krum({LIARS})", "median")
    falls = Bar("in-noise attack: slope of ByzantineSGD's error in steps",
                "slope", -0.5, at_most=True)
    flat = tuple(Bar(f"in-noise attack: slope of {rule}'s error at the end",
                     "slope", -0.25) for rule in others)
    lower = Bar("in-noise attack: error of the better of Krum and median over "
                "ByzantineSGD's", "times", 10.0)
    oracle = Bar("in-noise attack: ByzantineSGD's error over who knows the "
                 "liars", "times", None)

    def measure() -> dict:
        steps = horizons(where)
        rules = ("byzantine_sgd", *others, "oracle")
        errors = {rule: [error(where, rule, each) for each in steps]
                  for rule in rules}
        draw(where, "adversity-in-noise", chart(
            "A fifth of 100 workers lies within the noise", "steps", "error",
            {rule: list(zip(steps, errors[rule])) for rule in rules},
            log_x=True, log_y=True))
        note = marked(where, "; ".join(
            f"{rule} " + ", ".join(f"{each:.2g}" for each in errors[rule])
            for rule in rules) + f" after {', '.join(map(str, steps))} steps")
        figures = {falls: slope(errors["byzantine_sgd"], steps),
                   lower: min(errors[rule][-1] for rule in others)
                   / errors["byzantine_sgd"][-1],
                   oracle: errors["byzantine_sgd"][-1] / errors["oracle"][-1]}
        for rule, bar in zip(others, flat):
            figures[bar] = slope(errors[rule][-2:], steps[-2:])
        return {bar.name: {"ours": figure, "ratio": figure, "note": note}
                for bar, figure in figures.items()}

    return Bench((falls, *flat, lower, oracle), measure)


def survival_bench(where: Setting) -> Bench:
    """How often right workers are dropped."""
    factors = (1.0, CALIBRATION, 0.05, 0.03)
    workers, liars, steps = 20, 4, 500
    bars = tuple(Bar("in-noise attack: runs that lose a right worker, "
                     f"calibration {factor:g}", "share",
                     DELTA if factor >= CALIBRATION else None, at_most=True)
                 for factor in factors)

    def measure() -> dict:
        runs = 100 if where.quick else 1000
        found = {}
        for factor, bar in zip(factors, bars):
            # Whoever drops more than alpha allows would end the run.
            rule = byzantine(steps, factor, 0.49)
            lost = run(where, rule, workers, liars, steps,
                       runs)["runs_with_losses"] / runs
            found[bar.name] = {
                "ours": lost, "ratio": lost,
                "note": marked(where, f"{runs} runs of {steps} steps, "
                               f"{workers} workers, {liars} of which lie")}
        return found

    return Bench(bars, measure)


def workers_bench(where: Setting) -> Bench:
    """The distance to the optimum falls as 1 / sqrt(workers) where nobody
    lies, and with liars is at most C (1 + alpha sqrt(workers)) times that."""
    alpha = 0.1
    speedup = Bar("ByzantineSGD: slope of the distance in workers, nobody lies",
                  "slope", -0.4, at_most=True)
    price = Bar("ByzantineSGD: distance with a tenth of liars over the "
                "theorem's form", "times", 4.0, at_most=True)

    def measure() -> dict:
        counts = (10, 40) if where.quick else (10, 20, 40, 80, 160)
        steps = 1000 if where.quick else 4000

        def distance(workers: int, liars: int) -> float:
            got = run(where, byzantine(steps, CALIBRATION, 0.25), workers,
                      liars, steps, 8)
            return math.sqrt(2 * got["error"])

        clean = [distance(each, 0) for each in counts]
        lied = [distance(each, round(alpha * each)) for each in counts]
        over = [b / a / (1 + alpha * math.sqrt(each))
                for a, b, each in zip(clean, lied, counts)]
        note = marked(where, f"{steps} steps, {', '.join(map(str, counts))} "
                      f"workers: {', '.join(f'{x:.2g}' for x in clean)} clean, "
                      f"{', '.join(f'{x:.2g}' for x in lied)} with liars")
        falls = slope(clean, counts)
        return {speedup.name: {"ours": falls, "ratio": falls, "note": note},
                price.name: {"ours": max(over), "ratio": max(over),
                             "note": note}}

    return Bench((speedup, price), measure)
