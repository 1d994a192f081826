"""Writes the network of the digits recipe as ONNX, with the weights that `weft
export` put into a file.

digits_onnx.py digits.weft digits.onnx
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
import onnx  # noqa: E402

from lib import safetensors  # noqa: E402

OPSET, IR_VERSION = 20, 9


def model(path: Path) -> bytes:
    """digits-cnn: two convolutions, a pooling, two dense layers, a softmax."""
    weights = {name.split(".", 1)[1]: value
               for name, value in safetensors.read(path).items()}
    tensors, nodes = [], []

    def node(op: str, *inputs: str, **attributes: object) -> str:
        made = onnx.helper.make_node(op, list(inputs), [f"v{len(nodes)}"],
                                     **attributes)
        nodes.append(made)
        return made.output[0]

    def weight(name: str, value: np.ndarray) -> str:
        tensors.append(onnx.numpy_helper.from_array(
            np.ascontiguousarray(value), name))
        return name

    # One channel: images lie alike in both layouts.
    x = node("Reshape", "image", weight("shape", np.array([0, 1, 8, 8])))
    for layer in ("conv1", "conv2"):
        kernel = weights[f"{layer}.weight"].transpose(3, 2, 0, 1)
        x = node("Relu", node(
            "Conv", x, weight(f"{layer}.w", kernel),
            weight(f"{layer}.b", weights[f"{layer}.bias"]),
            pads=[1, 1, 1, 1]))
    x = node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = node("Flatten", node("Transpose", x, perm=[0, 2, 3, 1]))
    for layer in ("fc1", "fc2"):
        x = node("Gemm", x, weight(f"{layer}.w", weights[f"{layer}.weight"]),
                 weight(f"{layer}.b", weights[f"{layer}.bias"]))
        x = node("Relu" if layer == "fc1" else "Softmax", x)
    kind = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        nodes, "digits",
        [onnx.helper.make_tensor_value_info("image", kind, ["N", 8, 8, 1])],
        [onnx.helper.make_tensor_value_info(x, kind, ["N", 10])], tensors)
    return onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION).SerializeToString()


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(model(Path(sys.argv[1])))
