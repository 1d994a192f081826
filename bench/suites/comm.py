"""The bars of training across machines. Rows whose names begin with `lab` need
root and take minutes each: see bench/netlab."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.lab_training import (
    HOSTS, MLP, RESNET20, Trainings, Way, steps_to, topology, way)
from lib.netlab import Link
from lib.picture import chart
from lib.suite import answer, draw, marked
from lib.worker import WorkerError

RATES = {"10 Mbit/s": 10**7, "100 Mbit/s": 10**8, "1 Gbit/s": 10**9}
MPI_RANKS = (2, 3, 4)
MOST_BYTES = 66_000_000
NOT_SLOWER = 1 / 1.1
BUCKET_BYTES = 256 << 10  # the recipe's default

# Expected seconds x 1e3 by the alpha-beta model for 64 machines of 4 ranks:
# 35 GB/s and 5 us inside, 10 GB/s and 5 us for a card that 4 ranks share.
CLUSTER = ("ring aware", "ring unaware", "halving far-first",
           "halving near-first", "leaders", "blueconnect 4,64", "pipelined")
MODEL_MS = {
    64_000: (2.56, 2.60, 0.13, 0.095, 0.71, 0.68, 0.68),
    1_000_000: (2.75, 3.35, 0.87, 0.32, 0.97, 0.90, 0.90),
    8_000_000: (4.14, 8.93, 6.39, 2.00, 2.95, 2.58, 2.58),
    100_000_000: (22.5, 82.2, 78.9, 24.1, 28.9, 24.6, 23.1),
    500_000_000: (102, 401, 394, 120, 142, 121, 106)}
LISTED = ("ring aware", "blueconnect 4,64", "blueconnect 4,8,8",
          "blueconnect 2,2,2,2,2,2,2,2")
RESNET50_BYTES = 102_000_000

DENSE = way("f32")
HALF = way("f16", codec="value:f16")
SERVER = way("f32, server", policy="server")
THREE_LC = {s: way(f"3LC s={s}", policy="server", codec=f"3lc({s})")
            for s in ("1", "1.75")}
# As its authors train: momentum before the selection, not behind it.
TOPK_1 = way("top 1 %", momentum=0, sparsify="topk(0.01)",
             momentum_correction=0.9, warmup_epochs=2)
TOPK_10 = way("top 10 %", sparsify="topk(0.1)")
DEEP_REDUCE = {index: way(f"DeepReduce, {index}", sparsify="topk(0.1)",
                          codec=f"index:{text} value:qsgd(7)")
               for index, text in (("Bloom P0", "bloom(policy=p0)"),
                                   ("delta", "delta"))}
BLOOM_QSGD = "topk(0.1) | index:bloom(policy=p0) value:qsgd(7)"
HOOKS = ("none", "fp16", "powersgd")


def benches(where: Setting) -> list[Bench]:
    runs, wide = Trainings(where, RESNET20), Trainings(where, MLP)
    found = [all_reduce_bench(where, ranks) for ranks in MPI_RANKS]
    found += [simulated_bench(where, runs, rate) for rate in RATES]
    found += [cluster_bench(where), savings_bench(where), sparse_bench(where)]
    found += [three_lc_bench(where, s) for s in THREE_LC]
    found += [volume_bench(where), micro_bench(where), drift_bench(where, runs)]
    found += [scaling_bench(where)]
    brisk = Trainings(where, replace(RESNET20, lr=0.1))
    found += [accuracy_bench(where, runs, brisk), overlap_bench(where, runs)]
    found += [three_lc_lab_bench(where, runs), reduce_lab_bench(where, wide)]
    found += [steps_bench(where, runs, rate) for rate in RATES]
    return found + [peers_bench(where, runs, rate) for rate in RATES]


# --- Collectives -----------------------------------------------------------

def sizes(most: int) -> list[int]:
    found = [1000]
    while found[-1] * 4 <= most:
        found.append(found[-1] * 4)
    return found


def all_reduce_bench(where: Setting, ranks: int) -> Bench:
    bars = tuple(Bar(f"all-reduce mpi, {ranks} ranks, {size:,} B", "us",
                     NOT_SLOWER) for size in sizes(MOST_BYTES))
    return Bench(bars, partial(race_all_reduce, where, ranks, bars))


def race_all_reduce(where: Setting, ranks: int, bars: tuple) -> dict:
    pairs = 3 if where.quick else where.pairs
    raced = answer(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n",
                    ranks, where.build / "bin/weft-all-reduce", pairs,
                    MOST_BYTES])["sizes"]
    draw(where, f"all-reduce-{ranks}", chart(
        f"All-reduce on {ranks} processes of one machine", "bytes", "seconds",
        {"Weft": [(r["bytes"], median(r["ours"])) for r in raced],
         "MPI_Allreduce": [(r["bytes"], median(r["peer"])) for r in raced]},
        log_x=True, log_y=True))
    rows = {}
    for bar, size in zip(bars, raced):
        ratios = [b / a for a, b in zip(size["ours"], size["peer"])]
        rows[bar.name] = {
            "ours": 1e6 * median(size["ours"]),
            "peer": 1e6 * median(size["peer"]), "peer_name": "MPI_Allreduce",
            "ratio": median(ratios), "low": min(ratios), "high": max(ratios),
            "note": marked(where, size["algorithm"])}
    return rows


@cache
def simulated_cluster(where: Setting, machines: int, size: int) -> dict:
    cells = answer([where.worker, "blueconnect", "--threads", 1, "--machines",
                    machines, "--bytes", size])["cells"]
    times = {cell["column"]: cell["seconds"] for cell in cells}
    blue = f"blueconnect 4,{machines}"
    times["pipelined"] = min(seconds for name, seconds in times.items()
                             if name.startswith(blue))
    times["chosen name"] = next(cell["algorithm"] for cell in cells
                                if cell["column"] == "chosen")
    return times


def cluster_bench(where: Setting) -> Bench:
    # Steps of a real schedule overlap, where the model adds them up: cells may
    # be faster than it.
    gaps = [Bar(f"BlueConnect, 256 ranks, {size:,} B: above the model",
                "relative", 0.05, at_most=True) for size in MODEL_MS]
    picks = [Bar(f"BlueConnect, 256 ranks, {size:,} B: chosen", "ms", 1.0)
             for size in MODEL_MS]
    return Bench((*gaps, *picks), partial(compare_cluster, where, gaps, picks))


def compare_cluster(where: Setting, gaps: list, picks: list) -> dict:
    rows = {}
    for size, gap, pick in zip(MODEL_MS, gaps, picks):
        times = simulated_cluster(where, 64, size)
        found = {name: 1e3 * times[name] / expected - 1
                 for name, expected in zip(CLUSTER, MODEL_MS[size])}
        worst = max(found, key=found.get)
        cells = ", ".join(
            f"{name} {1e3 * times[name]:.3g} ms ({found[name]:+.0%})"
            for name in CLUSTER)
        rows[gap.name] = {"ours": found[worst], "ratio": found[worst],
                          "note": f"highest for {worst}; {cells}"}
        best = min(LISTED, key=lambda name: times[name])
        rows[pick.name] = {
            "ours": 1e3 * times["chosen"], "peer": 1e3 * times[best],
            "peer_name": best, "ratio": times[best] / times["chosen"],
            "note": times["chosen name"]}
    draw(where, "blueconnect", chart(
        "All-reduce on 64 simulated machines of 4 ranks", "bytes", "seconds",
        {name: [(size, simulated_cluster(where, 64, size)[name])
                for size in MODEL_MS] for name in (*CLUSTER, "chosen")},
        log_x=True, log_y=True))
    return rows


def savings_bench(where: Setting) -> Bench:
    bars = (Bar("BlueConnect, 192 ranks, 102 MB: saved, unpipelined",
                "share", 0.65),
            Bar("BlueConnect, 192 ranks, 102 MB: saved, pipelined",
                "share", 0.74))
    return Bench(bars, partial(compare_savings, where, bars))


def compare_savings(where: Setting, bars: tuple) -> dict:
    times = simulated_cluster(where, 48, RESNET50_BYTES)
    rows = {}
    for bar, column in zip(bars, ("blueconnect 4,48", "pipelined")):
        saved = 1 - times[column] / times["ring unaware"]
        rows[bar.name] = {
            "ours": saved, "ratio": saved,
            "note": f"{1e3 * times['ring unaware']:.1f} ms in a ring that "
            f"knows no machines, {1e3 * times[column]:.1f} ms so"}
    return rows


def sparse_bench(where: Setting) -> Bench:
    bars = (Bar("SparCML: pick over the best column", "ratio", 1.1,
                at_most=True),
            Bar("SparCML: over dense at density <= 1e-3", "ratio", 10),
            Bar("SparCML: over dense anywhere", "ratio", 0.95))
    return Bench(bars, partial(compare_sparse, where, bars))


def compare_sparse(where: Setting, bars: tuple) -> dict:
    cells = []
    for ranks in (8,) if where.quick else (8, 32, 128):
        cells += answer([where.worker, "sparse-table", "--threads", 1,
                         "--ranks", ranks])["rows"]
    picks = [(cell[key], cell) for cell in cells
             for key in ("pick", "exact_pick")]
    few = [(pick, cell) for pick, cell in picks if cell["density"] <= 1e-3]
    worst = (max(picks, key=lambda each: each[0]["over_best"]),
             max(few, key=lambda each: each[0]["over_dense"]),
             max(picks, key=lambda each: each[0]["over_dense"]))
    figures = (worst[0][0]["over_best"], 1 / worst[1][0]["over_dense"],
               1 / worst[2][0]["over_dense"])
    draw_sparse(where, cells)
    return {bar.name: {"ours": figure, "ratio": figure, "note": marked(
                where, f"the worst of {len(cells)} cases: {pick['name']}, "
                f"{cell['ranks']} ranks, density {cell['density']:g}, "
                f"{cell['support']}, {cell['network']}")}
            for bar, figure, (pick, cell) in zip(bars, figures, worst)}


def draw_sparse(where: Setting, cells: list) -> None:
    curves = {}
    for cell in cells:
        name = f"{cell['ranks']} ranks, {cell['support']}"
        if cell["network"].startswith("10 GB/s"):
            curves.setdefault(name, []).append(
                (cell["density"], 1 / cell["exact_pick"]["over_dense"]))
    draw(where, "sparse", chart(
        "Sparse sums of 16 M values at 10 GB/s", "density",
        "times as fast as the dense all-reduce", curves,
        log_x=True, log_y=True))


# --- Codecs ----------------------------------------------------------------

@cache
def weights(where: Setting) -> Path:
    path = where.build / "bench" / "resnet20.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([where.peers.python,
                    where.root / "bench/peers/make_weights.py", "resnet20",
                    "--out", path], check=True)
    return path


@cache
def codec(where: Setting, pipeline: str) -> dict:
    return answer([
        where.worker, "codec", "resnet20", "--pipeline", pipeline, "--data",
        where.data_folder("cifar10").parent, "--batch", 32, "--steps",
        40 if where.quick else 400, "--elements", 4_000_000, "--threads", 1,
        "--weights", weights(where)])


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
    found = codec(where, f"3lc({s})")
    elements = compressed(found, "elements")
    figures = (8 * compressed(found, "bytes") / elements,
               4e-9 * elements / compressed(found, "encode_seconds"),
               4e-9 * elements / compressed(found, "decode_seconds"))
    note = marked(where, f"mean of {len(found['losses'])} steps, tensor by "
                  "tensor")
    return {bar.name: {"ours": figure, "ratio": figure, "note": note}
            for bar, figure in zip(bars, figures)}


def volume_bench(where: Setting) -> Bench:
    bars = (Bar("DeepReduce QSGD+BF-P0, top 10 %: size of dense", "share",
                0.062, at_most=True),
            Bar("DeepReduce QSGD+BF-P0, top 10 %: encode 4 M", "ms", 62,
                at_most=True))
    return Bench(bars, partial(measure_volume, where, bars))


def measure_volume(where: Setting, bars: tuple) -> dict:
    found = codec(where, BLOOM_QSGD)
    share = (sum(tensor["bytes"] for tensor in found["tensors"])
             / sum(4 * tensor["elements"] for tensor in found["tensors"]))
    times = [1e3 * s for s in found["speed"]["encode_seconds"]]
    return {bars[0].name: {"ours": share, "ratio": share, "note": marked(
                where, "all tensors, headers and small ones included")},
            bars[1].name: {"ours": median(times), "ratio": median(times),
                           "low": min(times), "high": max(times)}}


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


# --- Training --------------------------------------------------------------

def simulated_step(where: Setting, topology: str, compute_s: float,
                   batch: int, overlap: bool = True) -> dict:
    return answer([
        where.worker, "simulate-step", "resnet20", "--threads", 1, "--batch",
        batch, "--bucket-bytes", BUCKET_BYTES, "--overlap",
        "true" if overlap else "false", "--collective", "auto", "--topology",
        topology, "--compute", compute_s, "--weights",
        weights(where)])


def simulated_bench(where: Setting, runs: Trainings, rate: str) -> Bench:
    bar = Bar(f"lab, sim against {rate}: step", "relative", 0.15,
              at_most=True)
    return Bench((bar,), partial(compare_simulated, where, runs, rate, bar))


def compare_simulated(where: Setting, runs: Trainings, rate: str,
                      bar: Bar) -> dict:
    link = Link(RATES[rate])
    measured = runs.ours(DENSE, 6 if where.quick else 12, link)
    report = measured.report
    compute_s = report["step_seconds"] - (report["wire_seconds"]
                                          - report["hidden_seconds"])
    found = simulated_step(where, topology(link), compute_s, 32)
    gap = abs(found["seconds"] / measured.step_s - 1)
    return {bar.name: {"ours": gap, "ratio": gap, "note": marked(
        where, f"{1e3 * found['seconds']:.0f} ms simulated, "
        f"{1e3 * measured.step_s:.0f} ms measured, of which "
        f"{1e3 * compute_s:.0f} ms computing")}}


def scaling_bench(where: Setting) -> Bench:
    bar = Bar("scaling on sim, ResNet-20, 64 ranks, 10 Gbit/s", "share", 0.9)
    return Bench((bar,), partial(simulate_scaling, where, bar))


def simulate_scaling(where: Setting, bar: Bar) -> dict:
    """Against one worker with the same batch for itself."""
    alone = answer([where.worker, "simulate-step", "resnet20", "--threads",
                    where.threads, "--batch", 128, "--bucket-bytes",
                    BUCKET_BYTES, "--overlap", "true", "--collective", "auto",
                    "--topology", "1@0s,1GB/s", "--compute", 0, "--weights", weights(where)])
    found = simulated_step(where, "64@20us,10Gbit/s", alone["backward"], 128)
    share = alone["backward"] / found["seconds"]
    return {bar.name: {"ours": share, "ratio": share, "note":
                       f"{1e3 * alone['backward']:.0f} ms alone on "
                       f"{where.threads} cores, "
                       f"{1e3 * found['seconds']:.1f} ms among 64"}}


def accuracy_bench(where: Setting, runs: Trainings, brisk: Trainings) -> Bench:
    """Of 3LC the unit is f32's standard deviation over the seeds. What the
    memory of 3LC holds back disturbs parameters by as much as the rate is
    large; momentum correction bears larger ones."""
    bars = {Bar(f"accuracy, {how.name}: below f32", "points",
                0.5 if how is TOPK_1 else 1.0, at_most=True):
            (how, brisk if how is TOPK_1 else runs)
            for how in (*THREE_LC.values(), TOPK_1)}
    return Bench(tuple(bars), lambda: {
        bar.name: or_error(partial(compare_accuracy, where, how, of))
        for bar, (how, of) in bars.items()})


def compare_accuracy(where: Setting, how: Way, runs: Trainings) -> dict:
    seeds, steps = (1, 2) if where.quick else (1, 2, 3), curve_steps(where)

    def final(of: Way) -> list[float]:
        return [runs.curve(of, steps, seed)[-1][1] for seed in seeds]

    base, found = final(DENSE), final(how)
    mean = sum(base) / len(base)
    spread = (sum((a - mean) ** 2 for a in base) / (len(base) - 1)) ** 0.5
    below = mean - sum(found) / len(found)
    figure = 100 * below if how is TOPK_1 else below / max(spread, 1e-9)
    return {"ours": figure, "ratio": figure, "note": marked(
        where, f"f32 {base}, so {found}, after {steps} steps")}


def overlap_bench(where: Setting, runs: Trainings) -> Bench:
    """With a core for each host, as hosts have. Where hosts share cores, one
    of them ends its backward pass late and all others wait for it: that row
    has no bar."""
    bars = tuple(Bar(f"lab, overlap at 1 Gbit/s, {hosts} hosts: hidden",
                     "share", 0.8 if hosts <= where.threads else None)
                 for hosts in (2, HOSTS))
    return Bench(bars, lambda: {
        bar.name: measure_overlap(where, runs, hosts)
        for bar, hosts in zip(bars, (2, HOSTS))})


def measure_overlap(where: Setting, runs: Trainings, hosts: int) -> dict:
    how = way("f32 in small buckets", bucket_bytes="65536")
    report = runs.ours(how, 8 if where.quick else 30,
                       Link(RATES["1 Gbit/s"]), hosts).report
    share = report["hidden_seconds"] / report["wire_seconds"]
    return {"ours": share, "ratio": share, "note": marked(
        where, f"{1e3 * report['hidden_seconds']:.0f} of "
        f"{1e3 * report['wire_seconds']:.0f} ms on the wire, in a step of "
        f"{1e3 * report['step_seconds']:.0f} ms")}


# --- Time to accuracy ------------------------------------------------------

def curve_steps(where: Setting) -> int:
    return 156 if where.quick else 3000


class Contest:
    """Seconds to an accuracy: the steps that the curve of a run by threads
    needs, times a step's seconds in the lab; the curve does not depend on
    the network. PyTorch's own curve, of PowerSGD, is from the lab at its
    fastest."""

    def __init__(self, runs: Trainings, steps: int, accuracy: float,
                 lab_steps: int):
        self._runs = runs
        self.accuracy = accuracy
        self._steps = steps
        self._lab_steps = lab_steps

    @cache
    def our_steps(self, how: Way) -> float:
        return steps_to(self.accuracy, self._runs.curve(how, self._steps))

    @cache
    def torch_steps(self, hook: str) -> float:
        if hook != "powersgd":  # the same sums as ours; f16 is granted them
            return self.our_steps(DENSE)
        return steps_to(self.accuracy, self._runs.torch_curve(
            hook, self._steps, eval_every=78))

    @cache
    def our_step(self, how: Way, rate: str) -> float:
        return self._runs.ours(how, self._lab_steps, Link(RATES[rate])).step_s

    @cache
    def torch_step(self, hook: str, rate: str) -> float:
        # PowerSGD sends its first steps whole.
        run = self._runs.torch(hook, self._lab_steps + 12, Link(RATES[rate]))
        return median(run.step_seconds[12:])

    def ours(self, how: Way, rate: str) -> float:
        return self.our_step(how, rate) * self.our_steps(how)

    def torch(self, hook: str, rate: str) -> float:
        return self.torch_step(hook, rate) * self.torch_steps(hook)


@cache
def contest(where: Setting, runs: Trainings) -> Contest:
    """Of ResNet-20; all ways get as far as that."""
    return Contest(runs, curve_steps(where), 0.2 if where.quick else 0.7,
                   lab_steps(where))


def lab_steps(where: Setting) -> int:
    return 6 if where.quick else 12


def or_error(measure: Callable[[], dict]) -> dict:
    """Of one row of several: a failure must not take the others along."""
    try:
        return measure()
    except WorkerError as error:
        return {"error": str(error)}


def versus(where: Setting, ours: float, peer: float, peer_name: str,
           accuracy: float) -> dict:
    return {"ours": ours, "peer": peer, "peer_name": peer_name,
            "ratio": peer / ours,
            "note": marked(where, f"seconds to {100 * accuracy:g} %")}


def three_lc_lab_bench(where: Setting, runs: Trainings) -> Bench:
    bars = tuple(Bar(f"lab, 3LC s={s} at 10 Mbit/s: time to accuracy", "s",
                     bar) for s, bar in (("1", 12), ("1.75", 18)))
    return Bench(bars, partial(race_three_lc, where, runs, bars))


def race_three_lc(where: Setting, runs: Trainings, bars: tuple) -> dict:
    """Against f32 by a server, too, whose steps are those of an all-reduce."""
    it = contest(where, runs)
    rate = "10 Mbit/s"
    base = it.our_step(SERVER, rate) * it.our_steps(DENSE)
    all_reduce = it.ours(DENSE, rate)

    def versus_f32(how: Way) -> dict:
        row = versus(where, it.ours(how, rate), base, SERVER.name, it.accuracy)
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
                             it.accuracy)
            for bar, (how, over) in zip(bars, pairs)}


def steps_bench(where: Setting, runs: Trainings, rate: str) -> Bench:
    bars = tuple(Bar(f"lab, step at {rate} against PyTorch DDP {hook}", "s",
                     1.0) for hook in HOOKS)
    return Bench(bars, partial(race_steps, where, runs, rate, bars))


def race_steps(where: Setting, runs: Trainings, rate: str,
               bars: tuple) -> dict:
    """f32 against f32; what compresses against our quickest way that does."""
    it = contest(where, runs)
    steps = {how.name: it.our_step(how, rate)
             for how in (DENSE, HALF, SERVER, *THREE_LC.values(), TOPK_1,
                         TOPK_10, *DEEP_REDUCE.values())}
    note = ", ".join(f"{name} {1e3 * step:.0f} ms"
                     for name, step in steps.items())
    rows = {}
    for bar, hook in zip(bars, HOOKS):
        like = {"none": DENSE.name, "fp16": HALF.name}.get(
            hook, min(steps, key=steps.get))
        rows[bar.name] = {"ours": steps[like],
                          "note": marked(where, f"{like}; {note}")}
        rows[bar.name] |= or_error(lambda: against_torch(
            where, steps[like], it.torch_step(hook, rate)))
    return rows


def against_torch(where: Setting, ours: float, theirs: float) -> dict:
    return {"peer": theirs, "peer_name": where.peers.torch_name,
            "ratio": theirs / ours}


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
    return {bar.name: versus(where, ours, it.torch(hook, rate),
                             where.peers.torch_name, it.accuracy)
            for bar, hook in zip(bars, HOOKS)}
