"""The engine's bars: training steps, eager calls, memory, start-up, curves."""

import json
import subprocess
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.curves import CURVES, Curve
from lib.functions_python import jax_name
from lib.measure import Race, largest_gap, race, rate
from lib.suite import initial_weights
from lib.worker import OneShot, Worker, WorkerError

MIB = 2**20
VERSION_STARTS = 11


@dataclass(frozen=True)
class StepCase:
    """A training step that is raced against PyTorch's f32 step."""
    model: str
    batch: int
    steps: int  # in one timed block, about 0.3 s of PyTorch's time
    bar: float
    dtype: str = "f32"
    unit: str = "img/s"
    tolerance: float = 1e-3  # of the first five losses, relative
    forms: tuple[str, ...] = ("eager",)  # of PyTorch; the better is raced

    @property
    def name(self) -> str:
        return f"{self.model} step, b{self.batch}, {self.dtype}"


FORMS = {"eager": [], "torch.compile": ["--compile"]}
TRIED_BLOCKS = 2
# A side that compiles, or takes five steps of a Transformer, may take that long
# for its first answer.
COMPILING_S = 900

STEPS = (
    StepCase("mnist-cnn", 128, 8, bar=1.5),
    StepCase("resnet20", 128, 2, bar=1.2, forms=tuple(FORMS)),
    # Eight bits of mantissa against 24: only the outline can agree.
    StepCase("resnet20", 128, 2, bar=1.7, dtype="bf16", tolerance=3e-2,
             forms=tuple(FORMS)),
    StepCase("mlp", 64, 120, bar=1.3, forms=tuple(FORMS)),
    StepCase("lstm-lm", 20, 3, bar=1.3, unit="seq/s"),
    StepCase("bert", 8, 1, bar=1.2, unit="seq/s"),
    StepCase("gpt", 4, 1, bar=1.2, unit="seq/s"),
)

# Where a dtype has no instructions.
WITHOUT_BF16 = ("avx2", "avx512_vnni")
WITHOUT_F16 = (*WITHOUT_BF16, "avx512_bf16")
# What holds PyTorch and its libraries to AVX2.
TORCH_AVX2 = ["env", "ATEN_CPU_CAPABILITY=avx2", "ONEDNN_MAX_CPU_ISA=AVX2",
              "DNNL_MAX_CPU_ISA=AVX2", "MKL_ENABLE_INSTRUCTIONS=AVX2"]


def benches(where: Setting) -> list[Bench]:
    found = [step_bench(where, case) for case in STEPS]
    plain = [case for case in STEPS if case.dtype == "f32"]
    found += [jax_bench(where, case) for case in STEPS]
    found += [avx2_bench(where, case) for case in plain]
    found += [emulated_bench(where, cap) for cap in WITHOUT_BF16]
    found += [f16_bench(where, cap) for cap in WITHOUT_F16]
    found += [eager_bench(where, no_tape) for no_tape in (False, True)]
    found += [matmul_bench(where), version_bench(where), mnist_bench(where)]
    return found + [curve_bench(where, curve) for curve in CURVES.values()]


def step_bench(where: Setting, case: StepCase) -> Bench:
    bars = (Bar(case.name, case.unit, case.bar),
            Bar(f"{case.name}: peak memory", "MiB", 1.0),
            Bar(f"{case.name}: memory above start", "MiB", 1.0),
            Bar(f"{case.name}: allocations", "per step", 0, at_most=True))
    return Bench(bars, partial(race_step, where, case, bars))


def race_step(where: Setting, case: StepCase, bars: tuple[Bar, ...]) -> dict:
    speed, peak, above, allocations = (bar.name for bar in bars)
    form, peer_memory = best_form(where, case)
    with our_step(where, case) as ours, torch_step(where, case, form) as peer:
        gap = agreement(ours, peer, case.tolerance)
        result = race(ours, peer, where.pairs)
        name = where.peers.torch_name
        ours_memory = ours.ask("memory")
        heap = ours.ask("allocations")
    note = f"first losses differ by at most {gap:.1e}"
    if len(case.forms) > 1:
        note = f"PyTorch's better form: {form}; {note}"
    return {
        speed: {**race_fields(result, name), "note": note},
        peak: memory_fields(ours_memory["peak_rss_bytes"],
                            peer_memory["peak_rss_bytes"], name),
        # PyTorch's libraries alone take hundreds of MiB: this row compares
        # what training adds to them.
        above: memory_fields(growth(ours_memory), growth(peer_memory), name),
        # oneDNN builds a map of the arguments whenever a primitive runs;
        # its interface leaves no way around that.
        allocations: {"ours": heap["allocations"],
                      "ratio": heap["allocations"],
                      "note": "by our code; oneDNN makes "
                      f"{heap['by_libraries']} small ones of its own"},
    }


def jax_bench(where: Setting, case: StepCase) -> Bench:
    bar = Bar(f"{case.name}, against JAX jit", case.unit, case.bar)
    return Bench((bar,), partial(race_jax, where, case, bar))


def race_jax(where: Setting, case: StepCase, bar: Bar) -> dict:
    with our_step(where, case) as ours, jax_step(where, case) as peer:
        gap = agreement(ours, peer, case.tolerance)
        result = race(ours, peer, where.pairs)
    return {bar.name: {**race_fields(result, jax_name(where)),
                       "note": f"first losses differ by at most {gap:.1e}"}}


def jax_step(where: Setting, case: StepCase) -> Worker:
    """In f32, as PyTorch's."""
    # JAX starts a thread for each core that it may use.
    options = step_options(where, case)
    at = options.index("--threads")
    return Worker(["taskset", "--cpu-list", f"0-{where.threads - 1}",
                   where.peers.python, where.root / "bench/peers/jax_step.py",
                   case.model, *options[:at], *options[at + 2:]],
                  where.threads, COMPILING_S)


def avx2_bench(where: Setting, case: StepCase) -> Bench:
    """As on a processor that has no more; PyTorch without its compiler, which
    cannot be held to AVX2."""
    bar = Bar(f"{case.name}, both held to AVX2", case.unit, 1.0)
    return Bench((bar,), partial(race_avx2, where, case, bar), "avx2")


def race_avx2(where: Setting, case: StepCase, bar: Bar) -> dict:
    with (our_step(where, case, "env", "WEFT_CPU=avx2") as ours,
          torch_step(where, case, "eager", *TORCH_AVX2) as peer):
        gap = agreement(ours, peer, case.tolerance)
        result = race(ours, peer, where.pairs)
    return {bar.name: {**race_fields(result, where.peers.torch_name),
                       "note": f"first losses differ by at most {gap:.1e}"}}


def emulated_bench(where: Setting, cap: str) -> Bench:
    """What a bf16 step takes of the f32 step's time where bf16 has no
    instructions; both sides are ours."""
    bar = Bar(f"resnet20 step, b128, bf16 over f32, WEFT_CPU={cap}", "img/s",
              1.2, at_most=True)
    return Bench((bar,), partial(race_emulated, where, cap, bar), cap)


def race_emulated(where: Setting, cap: str, bar: Bar) -> dict:
    def side(dtype: str) -> Worker:
        case = StepCase("resnet20", 128, 2, bar=1.2, dtype=dtype)
        return our_step(where, case, "env", f"WEFT_CPU={cap}")
    with side("f32") as f32, side("bf16") as bf16:
        return {bar.name: price_fields(where, f32, bf16, "bf16")}


def f16_bench(where: Setting, cap: str) -> Bench:
    """The same of f16, in which layers do not train, by convolutions and
    their gradients."""
    bar = Bar(f"gradients of 5 convolutions, b128, f16 over f32, "
              f"WEFT_CPU={cap}", "img/s", 1.2, at_most=True)
    return Bench((bar,), partial(race_f16, where, cap, bar), cap)


def race_f16(where: Setting, cap: str, bar: Bar) -> dict:
    def side(dtype: str) -> Worker:
        return Worker(["env", f"WEFT_CPU={cap}", where.worker, "narrow",
                       "--dtype", dtype, "--batch", 128, "--steps", 4,
                       "--threads", where.threads], where.threads)
    with side("f32") as f32, side("f16") as f16:
        return {bar.name: price_fields(where, f32, f16, "f16")}


def price_fields(where: Setting, f32: Worker, narrow: Worker,
                 dtype: str) -> dict:
    agreement(f32, narrow, 3e-2)
    fields = race_fields(race(f32, narrow, where.pairs), dtype)
    return {**fields, "note": f"weft is f32, the peer {dtype}: the ratio is "
            f"{dtype}'s time over f32's"}


def best_form(where: Setting, case: StepCase) -> tuple[str, dict]:
    """PyTorch's fastest form, and the memory of the one that takes least: a
    compiler takes more than what it compiles."""
    rates, memories = {}, []
    for form in case.forms:
        with torch_step(where, case, form) as peer:
            peer.ask("check")
            rates[form] = max(rate(peer) for _ in range(TRIED_BLOCKS))
            memories.append(peer.ask("memory"))
    return (max(rates, key=rates.get),
            min(memories, key=lambda memory: memory["peak_rss_bytes"]))


def step_options(where: Setting, case: StepCase) -> list:
    return ["--batch", case.batch, "--threads", where.threads, "--steps",
            case.steps, "--weights", initial_weights(where, case.model)]


def our_step(where: Setting, case: StepCase, *before: str) -> Worker:
    """`before` stands before the command."""
    return Worker([*before, where.worker, "step", case.model, "--dtype", case.dtype,
                   *step_options(where, case)], where.threads, COMPILING_S)


def torch_step(where: Setting, case: StepCase, form: str,
               *before: str) -> Worker:
    return Worker([*before, where.peers.python,
                   where.root / "bench/peers/torch_step.py", case.model,
                   "--dtype", "f32", *FORMS[form],
                   *step_options(where, case)], where.threads, COMPILING_S)


def agreement(ours: Worker, peer: Worker, tolerance: float) -> float:
    """The largest relative gap of the two answers; too large is an error."""
    answers = [side.ask("check") for side in (ours, peer)]
    first, second = (a.get("losses") or a.get("values") for a in answers)
    gap = largest_gap(first, second)
    if not gap <= tolerance:
        raise WorkerError(f"the answers differ by {gap:.1e}, more than "
                          f"{tolerance:.0e}: {first} against {second}")
    return gap


def race_fields(result: Race, peer_name: str) -> dict:
    return {"ours": result.ours, "peer": result.peer, "peer_name": peer_name,
            "ratio": result.ratio, "low": result.low, "high": result.high}


def memory_fields(ours: int, peer: int, peer_name: str) -> dict:
    return {"ours": ours / MIB, "peer": peer / MIB, "peer_name": peer_name,
            "ratio": peer / max(ours, 1)}


def growth(memory: dict) -> int:
    return memory["peak_rss_bytes"] - memory["baseline_rss_bytes"]


def eager_bench(where: Setting, no_tape: bool) -> Bench:
    name = "eager a + b, 16 floats" + (", no tape" if no_tape else "")
    bars = (Bar(name, "op/s", 2.0), Bar(f"{name}: peak memory", "MiB", 1.0))
    return Bench(bars, partial(race_eager, where, no_tape, bars))


def race_eager(where: Setting, no_tape: bool, bars: tuple[Bar, ...]) -> dict:
    flags = ["--size", 16, "--steps", 400_000, "--threads", where.threads]
    flags += ["--no-tape"] if no_tape else []
    program = where.peers.libtorch("libtorch_add.cpp")
    name = where.peers.torch_name.replace("PyTorch", "LibTorch")
    with (Worker([where.worker, "eager-add", *flags], where.threads) as ours,
          Worker([program, *flags], where.threads) as peer):
        agreement(ours, peer, tolerance=0)
        result = race(ours, peer, where.pairs)
        peaks = [side.ask("memory")["peak_rss_bytes"] for side in (ours, peer)]
    nanoseconds = (1e9 / result.ours, 1e9 / result.peer)
    note = "{:.0f} ns against {:.0f} ns per op".format(*nanoseconds)
    return {bars[0].name: {**race_fields(result, name), "note": note},
            bars[1].name: memory_fields(*peaks, name)}


def matmul_bench(where: Setting) -> Bench:
    bar = Bar("matmul 1024^3, f32", "GF/s", 0.85)
    return Bench((bar,), partial(race_matmul, where, bar))


def race_matmul(where: Setting, bar: Bar) -> dict:
    command = [where.worker, "matmul", "--rows", 1024, "--inner", 1024,
               "--columns", 1024, "--dtype", "f32", "--threads", where.threads,
               "--steps", 25]
    peak = OneShot([where.build / "bin/weft-fma-peak", where.threads])
    with Worker(command, where.threads) as ours:
        result = race(ours, peak, where.pairs)
        roof = max(result.peer_rates)
    # A roof is a maximum: a peak that a busy machine lowered is none.
    return {bar.name: {"ours": result.ours / 1e9, "peer": roof / 1e9,
                       "peer_name": "FMA peak", "ratio": result.ours / roof,
                       "low": min(result.our_rates) / roof,
                       "high": max(result.our_rates) / roof}}


def version_bench(where: Setting) -> Bench:
    bar = Bar("weft --version", "ms", 30, at_most=True)
    return Bench((bar,), partial(time_version, where, bar))


def time_version(where: Setting, bar: Bar) -> dict:
    command = [where.root / "bin/weft", "--version"]
    times_ms = []
    for _ in range(VERSION_STARTS):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times_ms.append(1e3 * (time.perf_counter() - start))
    return {bar.name: {"ours": median(times_ms), "ratio": median(times_ms),
                       "low": min(times_ms), "high": max(times_ms)}}


def mnist_bench(where: Setting) -> Bench:
    bar = Bar("mnist accuracy, 3 epochs", "share", 0.99)
    return Bench((bar,), partial(train_mnist, where, bar))


def train_mnist(where: Setting, bar: Bar) -> dict:
    data = where.data_folder("mnist").parent
    done = subprocess.run(
        [where.root / "bin/weft", "train", "recipes/mnist.toml", "--set",
         "train.epochs=3", "--data", data, "--json"],
        cwd=where.root, capture_output=True, text=True)
    if done.returncode:
        raise WorkerError(f"weft train ended with code {done.returncode}: "
                          f"{done.stderr.strip()[-500:]}")
    answer = json.loads(done.stdout)
    return {bar.name: {"ours": answer["test_accuracy"],
                       "ratio": answer["test_accuracy"],
                       "note": f"in {answer['seconds']:.0f} s"}}


def curve_bench(where: Setting, curve: Curve) -> Bench:
    bar = Bar(f"{curve.name}: gap of {curve.steps} losses", "relative", 1e-3,
              at_most=True)
    return Bench((bar,), partial(follow_curve, where, curve, bar))


def follow_curve(where: Setting, curve: Curve, bar: Bar) -> dict:
    path = where.root / "bench/reference" / f"{curve.name}.json"
    reference = json.loads(path.read_text())
    shipped = where.root / "data"
    data = (shipped if (shipped / curve.data).is_dir()
            else where.data_folder(curve.data).parent)
    done = subprocess.run(
        [where.worker, "curve", curve.model, "--data", data,
         "--weights", initial_weights(where, curve.model),
         "--batch", str(curve.batch), "--steps", str(curve.steps),
         "--threads", str(where.threads)],
        capture_output=True, text=True)
    if done.returncode:
        raise WorkerError(f"weft-bench curve {curve.model} ended with code "
                          f"{done.returncode}: {done.stderr.strip()[-500:]}")
    gap = largest_gap(json.loads(done.stdout)["losses"], reference["losses"])
    origin = reference["origin"]
    note = ("a nudge of the last bit moves the reference by "
            f"{reference['largest_relative_gap_when_nudged']:.1e}")
    return {bar.name: {"ours": gap, "ratio": gap, "note": note,
                       "peer_name": f"PyTorch {origin['torch'][:4]}"}}
