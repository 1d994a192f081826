"""How gradients travel in the rows of the suite `comm`."""

from functools import cache

from lib.bench import Setting
from lib.lab_training import Job, Trainings, Way, way
from lib.suite import marked

RATES = {"10 Mbit/s": 10**7, "100 Mbit/s": 10**8, "1 Gbit/s": 10**9}

DENSE = way("f32")
HALF = way("f16", codec="value:f16")
SERVER = way("f32, server", policy="server")
# What s = 1.75 holds back disturbs a classifier most: no normalization follows
# it. ResNet-20's has 640 values.
THREE_LC = {"1": way("3LC s=1", policy="server", codec="3lc(1)"),
            "1.75": way("3LC s=1.75, classifier whole", policy="server",
                        codec="3lc(1.75)", min_elements=1000)}
# Its authors train so: momentum before the selection, not behind it.
TOPK_1 = way("top 1 %", momentum=0, sparsify="topk(0.01)",
             momentum_correction=0.9, warmup_epochs=2)
TOPK_10 = way("top 10 %", sparsify="topk(0.1)")
DEEP_REDUCE = {index: way(f"DeepReduce, {index}", sparsify="topk(0.1)",
                          codec=f"index:{text} value:qsgd(7)")
               for index, text in (("Bloom P0", "bloom(policy=p0)"),
                                   ("delta", "delta"))}


@cache
def trainings(where: Setting, job: Job) -> Trainings:
    """One for each job: it keeps its initial weights."""
    return Trainings(where, job)


TABLE_STEPS = 1_560  # 20 epochs


def accuracy_row(where: Setting, runs: Trainings, how: Way,
                 remark: str = "") -> dict:
    """Where a training of the published tables of codecs ends."""
    steps = 156 if where.quick else TABLE_STEPS
    figure = runs.curve(how, steps)[-1][1]
    return {"ours": figure, "ratio": figure, "note": marked(
        where, f"four workers, one seed, after {steps} steps{remark}"
        f"{runs.remark()}")}
