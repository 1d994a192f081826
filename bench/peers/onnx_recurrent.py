"""onnxruntime's LSTM or GRU over a sequence, of the sizes of DeepBench."""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402

from lib.serve import serve  # noqa: E402

OPSET, IR_VERSION = 20, 9
SECONDS_OF_BLOCK = 0.1


def model(cell: str, hidden: int, steps: int, batch: int) -> bytes:
    """One layer that runs forward, its weights as initialisers."""
    gates = {"lstm": 4, "gru": 3}[cell]
    bound = 1 / np.sqrt(hidden)
    random = np.random.default_rng(1)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        values = random.uniform(-bound, bound, shape).astype(np.float32)
        return onnx.numpy_helper.from_array(values, name)

    weights = [weight("W", 1, gates * hidden, hidden),
               weight("R", 1, gates * hidden, hidden),
               weight("B", 1, 2 * gates * hidden)]
    # The reset gate acts after the product, as in our op.
    attributes = {"linear_before_reset": 1} if cell == "gru" else {}
    node = onnx.helper.make_node(cell.upper(), ["x", "W", "R", "B"], ["y"],
                                 hidden_size=hidden, **attributes)
    kind = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [node], "layer",
        [onnx.helper.make_tensor_value_info("x", kind, [steps, batch, hidden])],
        [onnx.helper.make_tensor_value_info("y", kind,
                                            [steps, 1, batch, hidden])],
        weights)
    made = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION)
    return made.SerializeToString()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cell", choices=["lstm", "gru"])
    for name in ("hidden", "steps", "batch", "threads"):
        parser.add_argument(f"--{name}", type=int, required=True)
    given = parser.parse_args()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = given.threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model(given.cell, given.hidden, given.steps, given.batch), options,
        providers=["CPUExecutionProvider"])
    x = np.random.default_rng(2).uniform(
        -1, 1, (given.steps, given.batch, given.hidden)).astype(np.float32)
    binding = session.io_binding()
    binding.bind_ortvalue_input(
        "x", onnxruntime.OrtValue.ortvalue_from_numpy(x))
    binding.bind_output("y", "cpu")
    session.run_with_iobinding(binding)

    def run() -> dict:
        start = time.perf_counter()
        sequences = 0
        while (seconds := time.perf_counter() - start) < SECONDS_OF_BLOCK:
            session.run_with_iobinding(binding)
            sequences += 1
        return {"work": sequences, "seconds": seconds}

    serve({"run": run})


if __name__ == "__main__":
    main()
