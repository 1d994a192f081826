"""Lock-free SGD on simulated threads: the paper's lower bound, and what its rates
and epochs are worth."""

import math
from functools import partial
from pathlib import Path
from statistics import linear_regression, mean

from lib.bench import Bar, Bench, Setting
from lib.picture import chart
from lib.sparse_rows import write_rows
from lib.suite import answer, draw, marked

RATES = (0.1, 0.03, 0.01)
LARGEST_DELAY = 100_000
# Which part of the squared distance is a success of ridge regression, and the
# probability of none that bounds are for.
WITHIN, FAILURE = 0.1, 0.1

SLOWDOWN = Bar("lock-free SGD, frozen for 290 iterations at a rate of 0.1: "
               "slowdown", "times", 13.3)
SLOPE = Bar("lock-free SGD, time by delay beyond the threshold: slope off 1",
            "", 0.05, at_most=True)
BEST = Bar("lock-free SGD, best rate by delay over log(delay) / delay: slope "
           "off 1", "", 0.05, at_most=True)
FAILURES = Bar("lock-free SGD, ridge regression: failures over what the bound "
               "allows", "times", 1, at_most=True)
GROWTH = Bar("lock-free SGD, ridge regression: slope of extra iterations in "
             "tau_max", "slope", 0.5, at_most=True)
FULL = Bar("lock-free SGD, frozen, with noise: fixed rate's error over "
           "FullSGD's", "times", 2)


def simulate(where: Setting, adversary: str, **more: object) -> dict:
    options = [word for name, value in more.items()
               for word in (f"--{name}", value)]
    return answer([where.root / "bin/weft", "sgd", "simulate", adversary,
                   "--json", *options])


def frozen(where: Setting, delay: int, rate: float) -> dict:
    """Two rounds of the lower bound's adversary."""
    return simulate(where, f"freeze(delay={delay})", rate=rate,
                    iterations=2 * (delay + 1))


def threshold(rate: float) -> float:
    return math.log(rate / 2) / math.log(1 - rate)


def iterations_per_tenth(where: Setting, delay: int, rate: float) -> float:
    """How many bring x ten times nearer to its optimum."""
    return 2 * (delay + 1) / -math.log10(frozen(where, delay, rate)["distance"])


def slope_of(points: list[tuple[float, float]], least: float) -> float:
    """In logarithms, of those beyond `least`."""
    beyond = [(math.log(x), math.log(y)) for x, y in points if x >= least]
    return linear_regression(*zip(*beyond)).slope


def lower_bound(where: Setting) -> dict:
    per_decade = 3 if where.quick else 8
    delays = sorted({round(10 ** (i / per_decade)) for i in
                     range(round(per_decade * math.log10(LARGEST_DELAY)) + 1)})
    lines = {rate: [(delay, iterations_per_tenth(where, delay, rate))
                    for delay in delays] for rate in RATES}
    draw(where, "lock-free-lower-bound", chart(
        "A gradient that is frozen", "frozen for so many iterations",
        "iterations to a tenth of the way",
        {f"rate {rate}": line for rate, line in lines.items()},
        log_x=True, log_y=True))
    slopes = {rate: slope_of(line, 2 * threshold(rate))
              for rate, line in lines.items()}
    off = max(abs(slope - 1) for slope in slopes.values())
    slowdown = simulate(where, "freeze(delay=290)", rate=0.1,
                        iterations=291)["slowdown"]
    return {SLOWDOWN.name: {"ours": slowdown, "ratio": slowdown,
                            "note": "of x^2 / 2 without noise"},
            SLOPE.name: {"ours": off, "ratio": off, "note": marked(
                where, "slopes " + ", ".join(
                    f"{slope:.3f} at a rate of {rate}"
                    for rate, slope in slopes.items())
                + f"; delays from twice the threshold to {LARGEST_DELAY:,}")}}


def best_rate(where: Setting, delay: int) -> float:
    """The one that takes the fewest iterations, in a grid in steps of 4 %."""
    about = math.log(delay) / delay
    grid = [about * 1.04 ** i for i in range(-20, 21)]
    return min(grid, key=lambda rate: iterations_per_tenth(where, delay, rate))


def best_rates(where: Setting) -> dict:
    """What rate is best where a gradient is frozen: the theory has it fall as
    log(delay) / delay, so that the slope over that is 1."""
    delays = (100, 1000, 10_000) if where.quick else (
        100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)
    rates = {delay: best_rate(where, delay) for delay in delays}
    off = abs(slope_of([(math.log(delay) / delay, rate)
                        for delay, rate in rates.items()], 0) - 1)
    return {BEST.name: {"ours": off, "ratio": off, "note": marked(
        where, ", ".join(f"{rate:.2g} for {delay:,}"
                         for delay, rate in rates.items()))}}


def ridge_rows(where: Setting, width: int) -> Path:
    rows = 20 * width
    return write_rows(where.build / f"bench/sgd-ridge-{width}.txt", rows, width,
                      None)


def ridge(where: Setting, width: int, threads: int, delay: int,
          seed: int = 1, within: float = 1, **more: object) -> dict:
    """A run of a model whose optimum, c, L and M are known; a step reaches all
    entries."""
    return answer([where.root / "bin/weft", "sgd", "simulate",
                   f"freeze(delay={delay})", ridge_rows(where, width), "--json",
                   "--loss", "squared", "--l2", 1, "--within", within,
                   "--failure", FAILURE, "--block", width, "--threads", threads,
                   "--seed", seed, *(word for name, value in more.items()
                                     for word in (f"--{name}", value))])


def bound_of(where: Setting, width: int, threads: int, delay: int) -> dict:
    """What the theory says with the delays of a short run of the schedule."""
    short = partial(ridge, where, width, threads, delay, rate=1e-6,
                    iterations=4 * (delay + threads))
    within = WITHIN * short()["first_distance"] ** 2
    return short(within=within) | {"within": within}


def ridge_failures(where: Setting) -> dict:
    """Runs as long and at such a rate as the theory wants, and how many of them
    never come near the optimum."""
    runs = 5 if where.quick else 1000
    worst, told = 0.0, []
    for width, threads, delay in ((10, 2, 20), (10, 16, 100), (30, 4, 50)):
        found = bound_of(where, width, threads, delay)
        bound = found["lock_free_bound"]
        iterations = math.ceil(bound["iterations"])
        failed = sum(ridge(where, width, threads, delay, seed, found["within"],
                           rate=bound["rate"], iterations=iterations)["reached"]
                     is None for seed in range(runs))
        worst = max(worst, failed / runs / FAILURE)
        told.append(f"{failed} of {runs} in {width} dimensions, {threads} "
                    f"threads, a delay of {delay}, {iterations:,} iterations")
    return {FAILURES.name: {"ours": worst, "ratio": worst,
                            "note": marked(where, "; ".join(told))}}


def ridge_growth(where: Setting) -> dict:
    """Iterations until the optimum is near beyond those of one thread, each at
    the rate that the theory has for its delay."""
    def reached(threads: int, delay: int) -> tuple[int, float]:
        bound = bound_of(where, 10, threads, delay)
        rate = bound["lock_free_bound"]["rate"] if threads > 1 else (
            bound["sequential_bound"]["rate"])
        times = [ridge(where, 10, threads, delay, seed, bound["within"],
                       rate=rate, iterations=math.ceil(10 / rate))["reached"]
                 for seed in range(2 if where.quick else 10)]
        return bound["tau_max"], mean(times)

    alone = reached(1, 0)[1]
    found = [reached(4, delay) for delay in (30, 100, 300, 1000)]
    extra = [(tau, time - alone) for tau, time in found]
    slope = slope_of(extra, 0)
    return {GROWTH.name: {"ours": slope, "ratio": slope, "note": marked(
        where, f"{alone:,.0f} iterations of one thread; of 4, " + ", ".join(
            f"{time:,.0f} by tau_max {tau:,}" for tau, time in found))}}


def full(where: Setting) -> dict:
    runs = 10 if where.quick else 100

    def mean_square(epochs: int, iterations: int) -> float:
        return sum(simulate(where, "freeze(delay=60)", rate=0.2, noise=1,
                            epochs=epochs, iterations=iterations,
                            seed=seed)["distance"] ** 2
                   for seed in range(runs)) / runs

    fixed, falling = mean_square(1, 4800), mean_square(8, 600)
    return {FULL.name: {
        "ours": fixed / falling, "ratio": fixed / falling,
        "note": marked(where, f"mean squares of {runs} runs of 4,800 "
                       f"iterations: {fixed:.4f} at a rate of 0.2, "
                       f"{falling:.4f} after 8 epochs")}}


def benches(where: Setting) -> list[Bench]:
    return [Bench((SLOWDOWN, SLOPE), partial(lower_bound, where)),
            Bench((BEST,), partial(best_rates, where)),
            Bench((FAILURES,), partial(ridge_failures, where)),
            Bench((GROWTH,), partial(ridge_growth, where)),
            Bench((FULL,), partial(full, where))]
