"""NVIDIA's Triton, a server in C++, with its dynamic batcher. The wheel that
PyPI has brings it with one backend, Python's: there onnxruntime computes.

triton_server.py digits.onnx --port P
"""

import argparse

import numpy as np
import onnxruntime
from pytriton.decorators import batch
from pytriton.model_config import DynamicBatcher, ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig

MOST_ROWS = 32


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    given = parser.parse_args()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = given.threads
    session = onnxruntime.InferenceSession(
        given.model, options, providers=["CPUExecutionProvider"])

    @batch
    def infer(image: np.ndarray) -> list[np.ndarray]:
        return session.run(None, {"image": image})

    ports = TritonConfig(http_port=given.port, grpc_port=given.port + 1,
                         metrics_port=given.port + 2)
    with Triton(config=ports) as triton:
        triton.bind(
            model_name="digits", infer_func=infer,
            inputs=[Tensor(name="image", dtype=np.float32, shape=(8, 8, 1))],
            outputs=[Tensor(name="result0", dtype=np.float32, shape=(10,))],
            config=ModelConfig(max_batch_size=MOST_ROWS,
                               batcher=DynamicBatcher()))
        triton.serve()


if __name__ == "__main__":
    main()
