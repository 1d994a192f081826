"""Fused elementwise loops: what a function in the middle, another dtype, or
fewer instructions cost them."""

from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.measure import race
from lib.worker import Worker

MIB = 2**20
PASSES = {"tanh": ("one tanh", 0.7), "f64": ("f64", 0.5), "i64": ("i64", 0.5)}
SIZE = 64 * MIB  # of each operand, beyond any cache


def benches(where: Setting) -> list[Bench]:
    found = [pass_bench(where, form) for form in PASSES]
    return [*found, capped_bench(where, "avx2")]


def pass_bench(where: Setting, form: str) -> Bench:
    name, least = PASSES[form]
    bar = Bar(f"loop a * b + a, 64 MiB: {name} over f32 without", "B/s", least)
    return Bench((bar,), partial(race_passes, where, form, bar))


def race_passes(where: Setting, form: str, bar: Bar) -> dict:
    def side(form: str) -> Worker:
        return Worker([where.worker, "loops", form, "--bytes", SIZE, "--steps",
                       4, "--threads", where.threads], where.threads)

    with side(form) as ours, side("f32") as plain:
        result = race(ours, plain, where.pairs)
    return {bar.name: {"ours": result.ours, "peer": result.peer,
                       "peer_name": "a * b + a in f32", "ratio": result.ratio,
                       "low": result.low, "high": result.high}}


def capped_bench(where: Setting, cap: str) -> Bench:
    bar = Bar(f"loops of a ResNet-20 step, {cap} over all instructions", "times",
              1.3, at_most=True)
    return Bench((bar,), partial(race_capped, where, cap, bar), cap)


def race_capped(where: Setting, cap: str, bar: Bar) -> dict:
    command = [where.worker, "loops", "resnet20", "--batch", 128, "--steps", 2,
               "--threads", where.threads]
    capped = ["env", f"WEFT_CPU={cap}", *command]
    with (Worker(command, where.threads) as whole,
          Worker(capped, where.threads) as less):
        result = race(whole, less, where.pairs)
    ours, peer = (1e3 / rate for rate in (result.ours, result.peer))
    return {bar.name: {"ours": result.ratio, "ratio": result.ratio,
                       "low": result.low, "high": result.high,
                       "note": f"{peer:.1f} against {ours:.1f} ms a step"}}
