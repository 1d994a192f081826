"""Aggregation rules by themselves: bytes of gradients a second on one core, for
as many workers and parameters as AggregaThor's (MLSys 2019) experiments have,
and all distances at once against pair by pair."""

from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.suite import answer, marked

WORKERS, WRONG = 19, 4
PARAMETERS = 1_756_426
ENTRYWISE = ("median", f"trimmed_mean({WRONG})", f"averaged_median({WRONG})",
             f"phocas({WRONG})", "average_nan")
WHOLE = (f"krum({WRONG})", f"multi_krum({WRONG})", f"bulyan({WRONG})")


def benches(where: Setting) -> list[Bench]:
    return [*(rule_bench(where, rule, 1.0) for rule in ENTRYWISE),
            *(rule_bench(where, rule, None) for rule in WHOLE),
            distances_bench(where)]


def seconds(where: Setting, rule: str) -> float:
    size = PARAMETERS // 8 if where.quick else PARAMETERS
    return answer([where.worker, "rule", "--threads", 1, "--rule", rule,
                   "--workers", WORKERS, "--size", size])["seconds"] / size


def rule_bench(where: Setting, rule: str, least: float | None) -> Bench:
    bar = Bar(f"rule {rule}, {WORKERS} workers", "GB/s", least)
    return Bench((bar,), partial(measure_rule, where, rule, bar))


def measure_rule(where: Setting, rule: str, bar: Bar) -> dict:
    each = seconds(where, rule)
    speed = 4e-9 * WORKERS / each
    return {bar.name: {
        "ours": speed, "ratio": speed,
        "note": marked(where, f"of gradients, one core; "
                       f"{1e3 * each * PARAMETERS:.1f} ms for {PARAMETERS:,} "
                       "parameters")}}


def distances_bench(where: Setting) -> Bench:
    bar = Bar(f"distances of {WORKERS} workers over pair by pair", "times", 1.5)

    def measure() -> dict:
        ratios = []
        for _ in range(3 if where.quick else 7):
            ours = seconds(where, "distances")
            ratios.append((seconds(where, "pairs") / ours, ours))
        ratios.sort()
        times, ours = ratios[len(ratios) // 2]
        return {bar.name: {
            "ours": times, "ratio": times, "low": ratios[0][0],
            "high": ratios[-1][0],
            "note": marked(where, f"one core; {1e3 * ours * PARAMETERS:.1f} ms "
                           f"for {PARAMETERS:,} parameters; the other sums "
                           "squares of differences in f32, one pair after the "
                           "other")}}

    return Bench((bar,), measure)
