"""Every rule under every attack (bench/worker/attacks.cpp): 19 workers, 4 of
which lie, train a quarter of AggregaThor's network for CIFAR-10."""

from functools import cache

from lib.bench import Bar, Bench, Setting
from lib.suite import answer, marked

WORKERS, LIARS = 19, 4
BATCH = 32  # of each worker: with 8, noise is what rules choose by
RATE = 0.05
RULES = ("mean", "average_nan", "median", f"trimmed_mean({LIARS})",
         f"averaged_median({LIARS})", f"phocas({LIARS})", f"krum({LIARS})",
         f"multi_krum({LIARS})", f"bulyan({LIARS})",
         "safeguard(window=50, long_window=300)")
ATTACKS = ("none", "reversed", "noise", "nan", "empire", "little", "hidden",
           "label_flip", "mute", "replay", "bias", "adaptive")
# Those under which the mean is no use.
STRONG = ("reversed", "noise", "nan")
CHANCE = 0.1


def steps(where: Setting) -> int:
    return 50 if where.quick else 200


def benches(where: Setting) -> list[Bench]:
    # Bulyan wants all 4 f + 3, and waits for whoever sends nothing.
    return [*(attack_bench(where, rule, attack)
              for rule in RULES for attack in ATTACKS
              if not (rule.startswith("bulyan") and attack == "mute")),
            collapse_bench(where), resilience_bench(where)]


def train(where: Setting, rule: str, attack: str, steps: int, every: int,
          batch: int = BATCH, divisor: int = 4) -> dict:
    return answer([where.worker, "attacks", "--threads", 1, "--rule", rule,
                   "--attack", attack, "--data",
                   where.data_folder("cifar10").parent, "--workers", WORKERS,
                   "--liars", LIARS, "--batch", batch, "--steps", steps,
                   "--rate", RATE, "--every", every, "--divisor", divisor])


@cache
def accuracy(where: Setting, rule: str, attack: str) -> float:
    """The accuracy on 2,000 held-out images."""
    return train(where, rule, attack, steps(where),
                 every=steps(where))["accuracy"]


def attack_bench(where: Setting, rule: str, attack: str) -> Bench:
    bar = Bar(f"attacks on {rule}: {attack}", "accuracy", None)

    def measure() -> dict:
        reached = accuracy(where, rule, attack)
        return {bar.name: {
            "ours": reached, "ratio": reached,
            "note": marked(where, f"{LIARS} of {WORKERS} workers lie, "
                           f"{steps(where)} steps of {BATCH} examples "
                           "each")}}

    return Bench((bar,), measure)


def collapse_bench(where: Setting) -> Bench:
    bar = Bar("attacks: the mean over chance, best of strong ones", "times", 1.5,
              at_most=True)

    def measure() -> dict:
        best = max(accuracy(where, "mean", each) for each in STRONG)
        return {bar.name: {"ours": best / CHANCE, "ratio": best / CHANCE,
                           "note": marked(where, ", ".join(STRONG))}}

    return Bench((bar,), measure)


def resilience_bench(where: Setting) -> Bench:
    """What strong attacks cost Multi-Krum and Bulyan."""
    rules = (f"multi_krum({LIARS})", f"bulyan({LIARS})")
    bars = tuple(Bar(f"attacks: clean mean less {rule}, worst of strong ones",
                     "points", 3.0, at_most=True) for rule in rules)

    def measure() -> dict:
        clean = accuracy(where, "mean", "none")
        found = {}
        for rule, bar in zip(rules, bars):
            worst = min(accuracy(where, rule, each) for each in STRONG)
            lost = 100 * (clean - worst)
            found[bar.name] = {
                "ours": lost, "ratio": lost,
                "note": marked(where, f"clean {clean:.3f}, under "
                               f"{', '.join(STRONG)} at least {worst:.3f}")}
        return found

    return Bench(bars, measure)
