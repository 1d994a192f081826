"""Cart-pole: a pole kept upright by a policy gradient, at most 500 steps an
episode."""

from statistics import mean, median

from lib.bench import Bar, Bench, Setting
from lib.suite import answer, marked

SEEDS = (1, 2, 3)
QUICK_EPOCHS = 4


def benches(where: Setting) -> list[Bench]:
    bar = Bar("cart-pole: reward", "steps", 475)

    def measure() -> dict:
        fewer = (["--set", f"train.epochs={QUICK_EPOCHS}"] if where.quick
                 else [])
        found = [answer(
            [where.root / "bin/weft", "train",
             where.root / "recipes/cart-pole.toml", "--json",
             "--threads", where.threads,
             "--out", where.build / f"bench/cart-pole-{seed}",
             "--set", f"train.seed={seed}", *fewer]) for seed in SEEDS]
        rewards = [run["test_reward"] for run in found]
        seconds = median(run["seconds"] for run in found)
        return {bar.name: {
            "ours": mean(rewards), "ratio": mean(rewards), "low": min(rewards),
            "high": max(rewards),
            "note": marked(where, f"the mean of {len(SEEDS)} seeds counts, "
                           f"each at its best epoch; {seconds:.1f} s")}}

    return [Bench((bar,), measure)]
