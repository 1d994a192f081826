"""ONNX: onnx's own node tests, models of PyTorch here, what is imported in
onnxruntime, and how long both take for one example."""

import os
import subprocess
from functools import partial
from pathlib import Path

from lib.bench import Bar, Bench, Setting
from lib.measure import race
from lib.suite import answer
from lib.worker import Worker

MODELS = {"resnet50": "ResNet-50", "mobilenet_v2": "MobileNet-v2",
          "densenet121": "DenseNet-121", "squeezenet1_1": "SqueezeNet",
          "inception_v3": "Inception-v3", "encoder": "Transformer encoder",
          "lstm": "LSTM", "mlp": "MLP"}
RUNTIMES = {"onnxruntime": "onnxruntime", "openvino": "OpenVINO"}
SMALL = ("lstm", "mlp")  # where more than the others is due
NODE_TESTS = Bar("ONNX node tests on supported dtypes", "%", 95)


def benches(where: Setting) -> list[Bench]:
    found = [Bench((NODE_TESTS,), partial(node_tests, where))]
    for model in MODELS:
        found.append(agreement(where, model))
        found += [latency(where, model, runtime) for runtime in RUNTIMES]
    return found


def script(where: Setting, name: str) -> list:
    return ["env", f"PYTHONPATH={where.build / 'python'}", where.peers.python,
            where.root / "bench/peers" / name]


def node_tests(where: Setting) -> dict:
    """The page names each test that fails, with its reason."""
    said = answer([*script(where, "onnx_node_tests.py"), "--page",
                   where.root / "docs/results/onnx-node-tests.md"])
    share = 100 * said["passed"] / said["supported"]
    return {NODE_TESTS.name: {
        "ours": share, "ratio": share,
        "note": f"{said['passed']} of {said['supported']}, onnx "
        f"{said['onnx']}; {said['fixed']} have inputs that decide shapes, "
        "which are fixed"}}


def folder(where: Setting, model: str) -> Path:
    """Where the exported model lies; made once."""
    path = where.build / "bench" / "onnx"
    maker = where.root / "bench/peers/torch_onnx.py"
    if not (path / f"{model}.npz").exists() or (
            path / f"{model}.npz").stat().st_mtime < maker.stat().st_mtime:
        subprocess.run([where.peers.python, maker, path, model], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, "OMP_NUM_THREADS": "2"})
    return path


def agreement(where: Setting, model: str) -> Bench:
    name = MODELS[model]
    bars = (Bar(f"{name} of PyTorch, imported: largest difference",
                "of the largest", 1e-4, at_most=True),
            Bar(f"{name} exported, in onnxruntime: largest difference",
                "of the largest", 1e-5, at_most=True))

    def measure() -> dict:
        said = answer([*script(where, "onnx_models.py"), "compare",
                       folder(where, model), model])
        return {bar.name: {"ours": said[key], "ratio": said[key],
                           "note": said["note"]}
                for bar, key in zip(bars, ("imported", "exported"))}

    return Bench(bars, measure)


def latency(where: Setting, model: str, runtime: str) -> Bench:
    bar = Bar(f"{MODELS[model]}, one example: over {RUNTIMES[runtime]}",
              "runs/s", 1.3 if model in SMALL else 1.0)

    def measure() -> dict:
        path = folder(where, model)
        sides = [Worker([*script(where, "onnx_models.py"), side, path, model,
                         "--threads", where.threads], where.threads,
                        timeout_s=600, rests=True)
                 for side in ("weft", runtime)]
        with sides[0] as ours, sides[1] as theirs:
            result = race(ours, theirs, where.pairs)
        return {bar.name: {
            "ours": result.ours, "peer": result.peer,
            "peer_name": RUNTIMES[runtime], "ratio": result.ratio,
            "low": result.low, "high": result.high,
            "note": "the same ONNX file, called from Python"}}

    return Bench((bar,), measure)
