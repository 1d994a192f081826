"""The bars of time to accuracy on slow links: against f32, and against
PyTorch's DDP. They need root, and take minutes each: see lib/netlab.py."""

from dataclasses import replace
from functools import cache, partial
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.lab_training import (
    LONG_RESNET20, LONG_STEPS, MLP, RESNET20, Trainings, Way, mean_curve,
    steps_to)
from lib.lab_ways import (
    DEEP_REDUCE, DENSE, HALF, RATES, SERVER, THREE_LC, TOPK_1, TOPK_10,
    trainings)
from lib.netlab import Link
from lib.suite import marked, or_error

HOOKS = ("none", "fp16", "powersgd")  # of PyTorch
WARMUP = "sync.warmup_epochs"
EPOCH_STEPS = 78  # of ResNet-20: 10,000 images, batches of 128
# Sizes of DDP's buckets in MiB, each of which is tried: as ours, larger, and
# its default. PowerSGD has one bucket.
BUCKETS = {"buckets of 256 KiB": 0.25, "buckets of 1 MiB": 1.0,
           "its default buckets": None}


def benches(where: Setting) -> list[Bench]:
    runs = trainings(where, RESNET20)
    return [three_lc_lab_bench(where, trainings(where, LONG_RESNET20)),
            reduce_lab_bench(where, trainings(where, MLP)),
            *(steps_bench(where, runs, rate) for rate in RATES),
            *(peers_bench(where, runs, rate) for rate in RATES)]


def curve_steps(where: Setting) -> int:
    return 156 if where.quick else 3000


class Contest:
    """Seconds to an accuracy: the steps that the curve of a run by threads
    needs (the mean of the seeds' curves), times a step's seconds in the lab;
    the curve does not depend on the network. PyTorch's own curve, of
    PowerSGD, is from the lab at its fastest."""

    def __init__(self, runs: Trainings, steps: int, accuracy: float,
                 lab_steps: int, seeds: tuple[int, ...] = (1,)):
        self._runs = runs
        self.accuracy = accuracy
        self._steps = steps
        self._lab_steps = lab_steps
        self._seeds = seeds

    @cache
    def our_steps(self, how: Way) -> float:
        return steps_to(self.accuracy, mean_curve(
            [self._runs.curve(how, self._steps, seed)
             for seed in self._seeds]))

    @cache
    def torch_steps(self, hook: str) -> float:
        if hook != "powersgd":  # the same sums as ours; f16 is granted them
            return self.our_steps(DENSE)
        return steps_to(self.accuracy, self._runs.torch_curve(
            hook, self._steps, eval_every=EPOCH_STEPS))

    @cache
    def our_step(self, how: Way, rate: str) -> float:
        return self._runs.ours(how, self._lab_steps, Link(RATES[rate])).step_s

    @cache
    def torch_step(self, hook: str, rate: str) -> tuple[float, str]:
        """The step with the buckets that suit the hook best, and a word on
        them."""
        if hook == "powersgd":
            return self._torch_step(hook, rate, None), "one bucket"
        steps = {name: self._torch_step(hook, rate, size)
                 for name, size in BUCKETS.items()}
        best = min(steps, key=steps.get)
        others = ", ".join(f"{name} {1e3 * step:.0f} ms"
                           for name, step in steps.items() if name != best)
        return steps[best], f"DDP with {best} (with {others})"

    def _torch_step(self, hook: str, rate: str, size: float | None) -> float:
        # PowerSGD sends its first steps whole.
        run = self._runs.torch(hook, self._lab_steps + 12, Link(RATES[rate]),
                               bucket_mib=size)
        return median(run.step_seconds[12:])

    def remark(self) -> str:
        return self._runs.remark()

    def ours(self, how: Way, rate: str) -> float:
        """Steps of a warm-up, whose first send most, are priced apart."""
        steps = self.our_steps(how)
        warm = min(steps, warmup_steps(how))
        late = (steps - warm) * self.our_step(settled(how), rate)
        return late + (warm * self.our_step(how, rate) if warm else 0)

    def torch(self, hook: str, rate: str) -> float:
        return self.torch_step(hook, rate)[0] * self.torch_steps(hook)


def settled(how: Way) -> Way:
    """As it is once its warm-up is over."""
    return replace(how, settings=tuple(
        setting for setting in how.settings if setting[0] != WARMUP))


def warmup_steps(how: Way) -> int:
    return EPOCH_STEPS * dict(how.settings).get(WARMUP, 0)


@cache
def contest(where: Setting, runs: Trainings) -> Contest:
    """Lets the ways train ResNet-20; all get as far as this accuracy."""
    return Contest(runs, curve_steps(where), 0.2 if where.quick else 0.7,
                   lab_steps(where))


def lab_steps(where: Setting) -> int:
    return 6 if where.quick else 12


def versus(where: Setting, ours: float, peer: float, peer_name: str,
           accuracy: float, remark: str) -> dict:
    return {"ours": ours, "peer": peer, "peer_name": peer_name,
            "ratio": peer / ours,
            "note": marked(where, f"seconds to {100 * accuracy:g} %{remark}")}


def three_lc_lab_bench(where: Setting, runs: Trainings) -> Bench:
    bars = tuple(Bar(f"lab, 3LC s={s} at 10 Mbit/s: time to accuracy", "s",
                     bar) for s, bar in (("1", 12), ("1.75", 18)))
    return Bench(bars, partial(race_three_lc, where, runs, bars))


def race_three_lc(where: Setting, runs: Trainings, bars: tuple) -> dict:
    """Against f32 by a server, too, whose steps are those of an all-reduce.
    In the trainings whose accuracy has a bar of its own, to one that f32
    reaches after three fifths of its steps."""
    steps, accuracy, seeds = LONG_STEPS, 0.83, (1, 2, 3)
    if where.quick:
        steps, accuracy, seeds = 156, 0.2, (1,)
    it = Contest(runs, steps, accuracy, lab_steps(where), seeds)
    rate = "10 Mbit/s"
    base = it.our_step(SERVER, rate) * it.our_steps(DENSE)
    all_reduce = it.ours(DENSE, rate)

    def versus_f32(how: Way) -> dict:
        row = versus(where, it.ours(how, rate), base, SERVER.name, it.accuracy,
                     it.remark())
        times = all_reduce / row["ours"]
        row["note"] += (f"; {times:.3g} times as fast as f32 by all-reduce; a "
                        f"step {1e3 * it.our_step(how, rate):.0f} ms, of f32 "
                        f"{1e3 * it.our_step(SERVER, rate):.0f} ms")
        return row

    return {bar.name: or_error(lambda: versus_f32(how))
            for bar, how in zip(bars, THREE_LC.values())}


def reduce_lab_bench(where: Setting, runs: Trainings) -> Bench:
    """Bars of the best index; the filter of the paper's own has rows too."""
    bars = tuple(Bar(f"lab, {how.name} at 100 Mbit/s over {over}", "s",
                     bar if how is DEEP_REDUCE["delta"] else None)
                 for how in DEEP_REDUCE.values()
                 for over, bar in (("top 10 %", 2.0), ("dense", 6.0)))
    return Bench(bars, partial(race_reduce, where, runs, bars))


def race_reduce(where: Setting, runs: Trainings, bars: tuple) -> dict:
    it = Contest(runs, *((100, 0.9) if where.quick else (1000, 0.975)),
                 lab_steps(where))
    pairs = [(how, over) for how in DEEP_REDUCE.values()
             for over in (TOPK_10, DENSE)]
    return {bar.name: versus(where, it.ours(how, "100 Mbit/s"),
                             it.ours(over, "100 Mbit/s"), over.name,
                             it.accuracy, it.remark())
            for bar, (how, over) in zip(bars, pairs)}


def steps_bench(where: Setting, runs: Trainings, rate: str) -> Bench:
    bars = tuple(Bar(f"lab, step at {rate} against PyTorch DDP {hook}", "s",
                     1.0) for hook in HOOKS)
    return Bench(bars, partial(race_steps, where, runs, rate, bars))


def race_steps(where: Setting, runs: Trainings, rate: str,
               bars: tuple) -> dict:
    """f32 against f32; what compresses against our quickest way that does."""
    it = contest(where, runs)
    steps = {how.name: it.our_step(settled(how), rate)
             for how in (DENSE, HALF, SERVER, *THREE_LC.values(), TOPK_1,
                         TOPK_10, *DEEP_REDUCE.values())}
    note = ", ".join(f"{name} {1e3 * step:.0f} ms"
                     for name, step in steps.items())
    rows = {}
    for bar, hook in zip(bars, HOOKS):
        like = {"none": DENSE.name, "fp16": HALF.name}.get(
            hook, min(steps, key=steps.get))
        row = rows[bar.name] = {"ours": steps[like],
                                "note": marked(where, f"{like}; {note}")}
        row |= or_error(lambda: against_torch(where, it, row, hook, rate))
    return rows


def against_torch(where: Setting, it: Contest, row: dict, hook: str,
                  rate: str) -> dict:
    theirs, buckets = it.torch_step(hook, rate)
    return {"peer": theirs, "peer_name": where.peers.torch_name,
            "ratio": theirs / row["ours"], "note": f"{row['note']}; {buckets}"}


def peers_bench(where: Setting, runs: Trainings, rate: str) -> Bench:
    bars = tuple(Bar(f"lab, PyTorch DDP {hook} at {rate}", "s", 1.0)
                 for hook in HOOKS)
    return Bench(bars, partial(race_peers, where, runs, rate, bars))


def race_peers(where: Setting, runs: Trainings, rate: str,
               bars: tuple) -> dict:
    """Our best way at this rate against each of theirs."""
    it = contest(where, runs)
    ways = (DENSE, *THREE_LC.values(), TOPK_1)
    ours = min(it.ours(how, rate) for how in ways)

    def versus_torch(hook: str) -> dict:
        row = versus(where, ours, it.torch(hook, rate),
                     where.peers.torch_name, it.accuracy, it.remark())
        return row | {"note": f"{row['note']}; {it.torch_step(hook, rate)[1]}"}

    return {bar.name: or_error(lambda: versus_torch(hook))
            for bar, hook in zip(bars, HOOKS)}
