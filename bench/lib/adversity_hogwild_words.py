"""Threads over one model where most of it is a table of words, of which a step
reaches few."""

import json
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.suite import answer, marked

THREADS = 2
BATCH = 25  # of the recipe
SETTLING_STEPS = 5
GAIN = Bar(f"hogwild, sst-sru by SGD, {THREADS} threads: sentences/s over "
           "allreduce's", "1/s", None)


def sentences_per_s(where: Setting, policy: str) -> float:
    out = where.build / "bench/adversity-hogwild-words"
    answer([where.root / "bin/weft", "train",
            where.root / "recipes/sst-sru.toml", "--json", "--data",
            where.data_folder("sst"), "--workers", THREADS, "--out", out,
            "--set", 'optimizer={name = "sgd", lr = 0.1}', "--set",
            f"sync.policy={policy}", "--set",
            f"train.max_steps={30 if where.quick else 200}"])
    steps = [json.loads(line)["seconds"]
             for line in (out / "traffic.jsonl").read_text().splitlines()]
    # Workers meet in the last one.
    return BATCH / median(steps[SETTLING_STEPS:-1])


def measure(where: Setting) -> dict:
    pairs = [[sentences_per_s(where, policy)
              for policy in ("hogwild", "allreduce")]
             for _ in range(1 if where.quick else 5)]
    ratios = sorted(ours / plain for ours, plain in pairs)
    return {GAIN.name: {
        "ours": median(ours for ours, _ in pairs),
        "peer": median(plain for _, plain in pairs), "peer_name": "allreduce",
        "ratio": median(ratios), "low": ratios[0], "high": ratios[-1],
        "note": marked(where, "most parameters are a table of words, of which "
                       "hogwild reads and changes the rows that a batch names")}}


def benches(where: Setting) -> list[Bench]:
    return [Bench((GAIN,), lambda: measure(where))]
