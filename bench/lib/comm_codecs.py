"""The bars of codecs and sparsifiers: sizes, speeds, the drift of top-k."""

from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.lab_training import HOSTS, RESNET20, Trainings, Way
from lib.lab_ways import THREE_LC, trainings
from lib.picture import chart
from lib.suite import answer, draw, initial_weights, marked

SMALLEST = 256  # elements of a tensor that a codec takes (pipeline.h)
BLOOM_QSGD = "topk(0.1) | index:bloom(policy=p0) value:qsgd(7)"


def benches(where: Setting) -> list[Bench]:
    runs = trainings(where, RESNET20)
    return [*(three_lc_bench(where, s) for s in THREE_LC),
            *(workers_bench(where, runs, how) for how in THREE_LC.values()),
            volume_bench(where), micro_bench(where), drift_bench(where, runs)]


@cache
def codec(where: Setting, pipeline: str, steps: int) -> dict:
    """ResNet-20 trained through a pipeline: sizes and times, tensor by
    tensor."""
    return answer([
        where.worker, "codec", "resnet20", "--pipeline", pipeline, "--data",
        where.data_folder("cifar10").parent, "--batch", 32, "--steps", steps,
        "--elements", 4_000_000, "--threads", 1,
        "--weights", initial_weights(where, "resnet20")])


def codec_steps(where: Setting) -> int:
    return 40 if where.quick else 400


def compressed(measured: dict, field: str) -> float:
    return sum(tensor[field] for tensor in measured["tensors"]
               if not tensor["bypasses"])


def three_lc_bench(where: Setting, s: str) -> Bench:
    name = f"3LC s={s}, ResNet-20's gradients"
    bars = (Bar(f"{name}: size", "bits/value", 0.9 if s == "1" else 0.35,
                at_most=True),
            Bar(f"{name}: encode", "GB/s", 2.0),
            Bar(f"{name}: decode", "GB/s", 2.0))
    return Bench(bars, partial(measure_three_lc, where, s, bars))


def measure_three_lc(where: Setting, s: str, bars: tuple) -> dict:
    found = codec(where, f"3lc({s})", codec_steps(where))
    elements = compressed(found, "elements")
    figures = (8 * compressed(found, "bytes") / elements,
               4e-9 * elements / compressed(found, "encode_seconds"),
               4e-9 * elements / compressed(found, "decode_seconds"))
    note = marked(where, f"mean of {len(found['losses'])} steps, tensor by "
                  "tensor")
    return {bar.name: {"ours": figure, "ratio": figure, "note": note}
            for bar, figure in zip(bars, figures)}


ONE_BUCKET = 4 << 20  # bytes, more than the model has
WORKERS_STEPS = 1_560  # 20 epochs: memories are full long before


def workers_bench(where: Setting, runs: Trainings, how: Way) -> Bench:
    """What 3LC takes where memories fill, of what it quantizes and of all."""
    bar = Bar(f"{how.name}, four workers: size", "bits/value", None)
    return Bench((bar,), partial(measure_workers, where, runs, how, bar))


def measure_workers(where: Setting, runs: Trainings, how: Way,
                    bar: Bar) -> dict:
    """All gradients are one bucket, which the first worker owns: it receives
    what the others push, and sends each what it pulls."""
    steps = 156 if where.quick else WORKERS_STEPS
    one_bucket = replace(how, settings=(
        *how.settings, ("sync.bucket_bytes", ONE_BUCKET)))
    traffic = runs.ours(one_bucket, steps).traffic
    pull, push = (sum(step[field] for step in traffic)
                  / (len(traffic) * (HOSTS - 1))
                  for field in ("bytes_sent", "bytes_received"))
    sizes = [tensor["elements"]
             for tensor in codec(where, "value:none", 1)["tensors"]]
    least = dict(how.settings).get("sync.min_elements", SMALLEST)
    whole = sum(4 * size for size in sizes if size < least)
    values = sum(size for size in sizes if size >= least)
    figure = 8 * ((push + pull) / 2 - whole) / values
    return {bar.name: {"ours": figure, "ratio": figure, "note": marked(
        where, f"of the {values:,} values that are quantized, mean of {steps} "
        f"steps and both directions; a worker pushes {push / 1e3:.1f} kB a "
        f"step and pulls {pull / 1e3:.1f}, of which {whole / 1e3:.1f} are "
        "small tensors that go whole")}}


def volume_bench(where: Setting) -> Bench:
    bars = (Bar("DeepReduce QSGD+BF-P0, top 10 %: size of dense", "share",
                0.062, at_most=True),
            Bar("DeepReduce QSGD+BF-P0, top 10 %: encode 4 M", "ms", 62,
                at_most=True),
            Bar("DeepReduce QSGD+BF-P0, top 10 %: decode 4 M", "ms", 19,
                at_most=True))
    return Bench(bars, partial(measure_volume, where, bars))


def measure_volume(where: Setting, bars: tuple) -> dict:
    found = codec(where, BLOOM_QSGD, codec_steps(where))
    share = (sum(tensor["bytes"] for tensor in found["tensors"])
             / sum(4 * tensor["elements"] for tensor in found["tensors"]))
    rows = {bars[0].name: {"ours": share, "ratio": share, "note": marked(
        where, "all tensors, headers and small ones included")}}
    for bar, field in zip(bars[1:], ("encode_seconds", "decode_seconds")):
        times = [1e3 * s for s in found["speed"][field]]
        rows[bar.name] = {"ours": median(times), "ratio": median(times),
                          "low": min(times), "high": max(times)}
    return rows


DRIFT_RANKS = (1, 4, 8)
DRIFT_RUN = "top 1 %, drift over the lemma's bound, {} ranks"


def drift_bench(where: Setting, runs: Trainings) -> Bench:
    bars = tuple(Bar(DRIFT_RUN.format(ranks), "ratio", 1.0, at_most=True)
                 for ranks in DRIFT_RANKS)
    return Bench(bars, partial(measure_drift, where, runs, bars))


def measure_drift(where: Setting, runs: Trainings, bars: tuple) -> dict:
    """The worst step of each run, and what xi was."""
    rows, lines = {}, {}
    for bar, ranks in zip(bars, DRIFT_RANKS):
        drifts = drift(where, runs.initial_weights, ranks)
        worst = max(each["outstanding"] / each["bound"] for each in drifts)
        xis = [each["xi"] for each in drifts]
        off = max(each["unbalanced"] / each["outstanding"] for each in drifts)
        rows[bar.name] = {
            "ours": worst, "ratio": worst, "note": marked(
                where, f"{len(drifts)} steps; xi {median(xis):.3g}, at most "
                f"{max(xis):.3g}; memories and drift differ by {off:.1g} of "
                "it")}
        lines[f"drift, {ranks} ranks"] = [
            (step + 1, each["outstanding"])
            for step, each in enumerate(drifts)]
        lines[f"bound, {ranks} ranks"] = [
            (step + 1, each["bound"]) for step, each in enumerate(drifts)]
    draw(where, "drift", chart(
        "Top 1 %: what is not applied yet", "step", "L2 norm", lines,
        log_y=True))
    return rows


def drift(where: Setting, initial: Path, ranks: int) -> list[dict]:
    return answer([
        where.worker, "drift", "resnet20", "--pipeline", "topk(0.01)",
        "--ranks", ranks, "--data", where.data_folder("cifar10").parent,
        "--batch", 32, "--steps", 20 if where.quick else 200, "--threads", 1,
        "--weights", initial])["drifts"]


def micro_bench(where: Setting) -> Bench:
    cases = {"codec/select/topk(0.01)": Bar("top-k, exact", "GB/s", 1.0),
             "codec/select/threshold(0.01)": Bar("threshold", "GB/s", 4.0),
             "stream/merge/": Bar("SparCML: merge", "M items/s", 150)}
    return Bench(tuple(cases.values()), partial(measure_micro, where, cases))


def measure_micro(where: Setting, cases: dict) -> dict:
    rows = {}
    for start, bar in cases.items():
        pattern = "^" + start.replace("(", r"\(").replace(")", r"\)")
        found = answer([where.build / "bin/weft-micro",
                        f"--benchmark_filter={pattern}",
                        "--benchmark_format=json",
                        f"--benchmark_repetitions={where.pairs}"])
        of = "items_per_second" if "items" in bar.unit else "bytes_per_second"
        scale = 1e6 if "items" in bar.unit else 1e9
        rates = [run[of] / scale for run in found["benchmarks"]
                 if run["run_type"] == "iteration"]
        rows[bar.name] = {"ours": median(rates), "ratio": median(rates),
                          "low": min(rates), "high": max(rates)}
    return rows
