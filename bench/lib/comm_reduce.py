"""DeepReduce's own table (Xu et al., "DeepReduce: a sparse-tensor communication
framework", 2021), for ResNet-20 and the top 1 %: what a step sends, what
encoding and decoding take, and where a short training ends. Figures: of the
order of the filters' policies the paper says more than one seed can show."""

from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.comm_codecs import codec
from lib.lab_training import RESNET20, Trainings, way
from lib.lab_ways import accuracy_row, trainings
from lib.suite import or_error

CODECS = {
    "dense": "", "top-k": "index:raw",
    "naive filter": "index:bloom(policy=naive)",
    "filter P0": "index:bloom(policy=p0)",
    "filter P1": "index:bloom(policy=p1)",
    "filter P2": "index:bloom(policy=p2)",
    "Fit-Poly": "index:raw value:fit-poly",
    "Fit-DExp": "index:raw value:fit-dexp",
    "filter P0, QSGD": "index:bloom(policy=p0) value:qsgd(8)"}
# The naive filter puts values where others stand, so that what is left out may
# not be kept for the next step: it would grow.
WITHOUT_MEMORY = ("naive filter",)
SELECTED = "topk(0.01)"
STEPS = 40  # of the sizes and times


def benches(where: Setting) -> list[Bench]:
    runs = trainings(where, RESNET20)
    return [bench(where, runs, name) for name in CODECS]


def bench(where: Setting, runs: Trainings, name: str) -> Bench:
    start = f"DeepReduce table, {name}"
    bars = (Bar(f"{start}: bytes a step", "B", None),
            Bar(f"{start}: encode a step", "ms", None),
            Bar(f"{start}: decode a step", "ms", None),
            Bar(f"{start}: accuracy", "share", None))
    return Bench(bars, partial(measure, where, runs, name, bars))


def pipeline(name: str) -> str:
    return f"{SELECTED} | {CODECS[name]}" if CODECS[name] else "value:none"


def measure(where: Setting, runs: Trainings, name: str, bars: tuple) -> dict:
    sizes, *times, accuracy = bars
    tensors = codec(where, pipeline(name), STEPS)["tensors"]
    dense = sum(4 * tensor["elements"] for tensor in tensors)
    sent = sum(tensor["bytes"] for tensor in tensors)
    note = f"mean of {STEPS} steps of one worker, {pipeline(name)}"
    rows = {sizes.name: {"ours": sent, "peer": dense, "peer_name": "f32",
                         "ratio": dense / sent,
                         "note": f"{note}; headers and small tensors included"}}
    for bar, field in zip(times, ("encode_seconds", "decode_seconds")):
        figure = 1e3 * sum(tensor[field] for tensor in tensors)
        rows[bar.name] = {"ours": figure, "ratio": figure, "note": note}
    rows[accuracy.name] = or_error(partial(trained, where, runs, name))
    return rows


def trained(where: Setting, runs: Trainings, name: str) -> dict:
    sync = ({"sparsify": SELECTED, "codec": CODECS[name]} if CODECS[name]
            else {})
    remark = ""
    if name in WITHOUT_MEMORY:
        sync["memory"] = "none"
        remark = ", without memory, which would grow"
    how = way(f"DeepReduce table, {name}", **sync)
    return accuracy_row(where, runs, how, remark)
