"""What Python costs: importing, an op, a call of a staged function, a step."""

import json
import subprocess
import tempfile
from functools import partial
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.suite import answer, python

IMPORT = ("import time; start = time.perf_counter(); import weft; "
          "print(time.perf_counter() - start)")
RECIPE, BATCH = "mnist", 128


def benches(where: Setting) -> list[Bench]:
    importing = Bar("import weft, in a fresh process", "ms", 80, at_most=True)
    eager = Bar("an eager op of 16 floats, from Python", "us", 1.0)
    staged = Bar("a staged call of 16 floats, from Python", "us", 2,
                 at_most=True)
    step = Bar(f"{RECIPE}, batch {BATCH}, steps from Python over weft train",
               "img/s", 0.97)
    return [Bench((importing,), partial(measure_import, where, importing)),
            Bench((eager, staged), partial(measure_calls, where, eager,
                                           staged)),
            Bench((step,), partial(race_steps, where, step))]


def measure_import(where: Setting, bar: Bar) -> dict:
    """NumPy's own import is a part of it."""
    found = []
    for _ in range(where.pairs):
        done = subprocess.run(
            ["env", f"PYTHONPATH={where.build / 'python'}", "/usr/bin/python3",
             "-c", IMPORT], capture_output=True, text=True, check=True)
        found.append(1e3 * float(done.stdout))
    return {bar.name: {"ours": median(found), "ratio": median(found),
                       "low": min(found), "high": max(found),
                       "note": f"{where.pairs} processes, NumPy included"}}


def measure_calls(where: Setting, eager: Bar, staged: Bar) -> dict:
    ours = answer([*python(where, "python_calls.py"), "--rounds",
                   where.pairs])
    theirs = answer([where.peers.python,
                     where.root / "bench/peers/torch_calls.py", "--rounds",
                     where.pairs])["eager"]
    ratios = sorted(b / a for a, b in zip(ours["eager"], theirs))
    calls = [1e6 * seconds for seconds in ours["staged"]]
    return {
        eager.name: {"ours": 1e6 * median(ours["eager"]),
                     "peer": 1e6 * median(theirs),
                     "peer_name": where.peers.torch_name,
                     "ratio": median(ratios), "low": ratios[0],
                     "high": ratios[-1], "note": "x + x, 20,000 a round"},
        staged.name: {"ours": median(calls), "ratio": median(calls),
                      "low": min(calls), "high": max(calls),
                      "note": "x + x, 20,000 a round"}}


def race_steps(where: Setting, bar: Bar) -> dict:
    data = where.data_folder(RECIPE)
    recipe = where.root / "recipes" / f"{RECIPE}.toml"
    settings = [f"train.batch={BATCH}", "train.epochs=1",
                f"data.folder={data}"]

    def ours() -> float:
        return answer(["env", f"OMP_NUM_THREADS={where.threads}",
                       *python(where, "python_epoch.py"), recipe,
                       *settings])["samples_per_s"]

    def command() -> float:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [where.build / "bin" / "weft", "train", recipe, "--threads",
                 str(where.threads), "--json", "--out", folder,
                 *(part for each in settings for part in ("--set", each))],
                capture_output=True, text=True, check=True)
            return json.loads(done.stdout)["samples_per_s"]

    pairs = [(ours(), command()) for _ in range(max(where.pairs // 3, 1))]
    ratios = sorted(a / b for a, b in pairs)
    return {bar.name: {
        "ours": median(a for a, _ in pairs), "peer": median(b for _, b in pairs),
        "peer_name": "weft train", "ratio": median(ratios), "low": ratios[0],
        "high": ratios[-1], "note": f"{len(pairs)} epochs of each"}}
