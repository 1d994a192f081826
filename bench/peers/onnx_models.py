#!/usr/bin/env python3
"""A model that torch_onnx.py exported: `compare` says how far Weft's and
onnxruntime's answers are from PyTorch's; `weft`, `onnxruntime` and `openvino`
serve it, one example a run."""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402

from lib.serve import serve, timed  # noqa: E402

BLOCK_S = 0.2


def gap(ours: np.ndarray, theirs: np.ndarray) -> float:
    if ours.shape != theirs.shape:
        raise ValueError(f"{ours.shape} against {theirs.shape}")
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def onnxruntime(path: Path, x: np.ndarray, threads: int) -> Callable:
    import onnxruntime as runtime
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = runtime.InferenceSession(str(path), options,
                                       providers=["CPUExecutionProvider"])
    given = {session.get_inputs()[0].name: x}
    return lambda: session.run(None, given)[0]


def openvino(path: Path, x: np.ndarray, threads: int) -> Callable:
    import openvino as vino
    model = vino.Core().read_model(str(path))
    model.reshape(list(x.shape))
    network = vino.compile_model(
        model, "CPU", {"PERFORMANCE_HINT": "LATENCY",
                       "INFERENCE_NUM_THREADS": threads,
                       "INFERENCE_PRECISION_HINT": "f32"})
    request = network.create_infer_request()
    request.set_input_tensor(vino.Tensor(x, shared_memory=True))
    return request.infer


def weft(path: Path, x: np.ndarray, threads: int) -> Callable:
    import weft as system
    system.set_threads(threads)
    function = system.onnx.load(path)
    given = system.tensor(x)
    return lambda: function(given)


RUNTIMES = {"weft": weft, "onnxruntime": onnxruntime, "openvino": openvino}


def compare(folder: Path, name: str) -> dict:
    import weft as system
    kept = np.load(folder / f"{name}.npz")
    function = system.onnx.load(folder / f"{name}.onnx")
    ours = np.asarray(function(kept["x"]))
    with tempfile.TemporaryDirectory() as other:
        path = Path(other) / "again.onnx"
        system.onnx.save(function, path)
        theirs = onnxruntime(path, kept["x"], 2)()
    return {"imported": gap(ours, kept["y"]), "exported": gap(theirs, ours),
            "note": f"random weights, batch {len(kept['x'])}"}


def block(run: Callable) -> Callable[[], dict]:
    """So many runs that a block takes long enough to be timed."""
    run()
    one = min(timed(lambda: (run(), 1)[1])["seconds"] for _ in range(5))
    count = max(1, int(BLOCK_S / max(one, 1e-7)))

    def runs() -> int:
        for _ in range(count):
            run()
        return count

    return lambda: timed(runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["compare", *RUNTIMES])
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    if given.what == "compare":
        print(json.dumps(compare(given.folder, given.name)))
        return
    x = np.ascontiguousarray(
        np.load(given.folder / f"{given.name}.npz")["x"][:1])
    run = RUNTIMES[given.what](given.folder / f"{given.name}.onnx", x,
                               given.threads)
    serve({"run": block(run)})


if __name__ == "__main__":
    main()
