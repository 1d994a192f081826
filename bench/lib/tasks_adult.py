"""Adult: a linear model beside a deep one, over numbers and categories."""

from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.suite import answer, marked
from lib.task_race import race_task

SEEDS = (1, 2, 3)
STEPS = 1524  # the recipe's six epochs of whole batches
QUICK_STEPS = 254
WITHIN = 0.98


def benches(where: Setting) -> list[Bench]:
    return [accuracy_bench(where), race_bench(where)]


def accuracy_bench(where: Setting) -> Bench:
    """Runs the recipe as it stands; the worst seed must hold."""
    bar = Bar("adult: held-out accuracy", "share", 0.85)

    def measure() -> dict:
        found = []
        for seed in SEEDS:
            folder = where.build / f"bench/adult-{seed}"
            found.append(answer(
                [where.root / "bin/weft", "train",
                 where.root / "recipes/adult.toml", "--json", "--data",
                 where.data_folder("adult").parent, "--threads", where.threads,
                 "--out", folder, "--set", f"train.seed={seed}"]))
        shares = [run["test_accuracy"] for run in found]
        seconds = median(run["seconds"] for run in found)
        return {bar.name: {
            "ours": median(shares), "ratio": min(shares), "low": min(shares),
            "high": max(shares),
            "note": f"the least of {len(SEEDS)} seeds counts, each at its best "
            f"epoch; {seconds:.1f} s"}}

    return Bench((bar,), measure)


def race_bench(where: Setting) -> Bench:
    speed = Bar("adult step, b128", "rows/s", 1.0)
    loss = Bar("adult: held-out loss after the same steps", "nats", WITHIN)
    accuracy = Bar("adult: held-out accuracy after the same steps", "share",
                   WITHIN)

    def measure() -> dict:
        steps = QUICK_STEPS if where.quick else STEPS
        found = race_task(where, "adult", "adult", "adult", steps)

        def compared(metric: str, is_higher_better: bool) -> dict:
            ours, peer = found.ours[metric], found.peer[metric]
            ratio = ours / peer if is_higher_better else peer / ours
            return {"ours": ours, "peer": peer,
                    "peer_name": where.peers.torch_name, "ratio": ratio,
                    "note": marked(where, f"after {steps:,} steps from the same "
                                   "weights")}

        return {speed.name: found.rates, loss.name: compared("loss", False),
                accuracy.name: compared("accuracy", True)}

    return Bench((speed, loss, accuracy), measure)
