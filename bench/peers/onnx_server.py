"""onnxruntime behind FastAPI and uvicorn, as such servers are usually written:
JSON in, a batch of one to the session, JSON out. It answers the open inference
protocol as far as our load needs it.

onnx_server.py digits.onnx --port P --workers W
"""

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import uvicorn
from fastapi import FastAPI


def make_app() -> FastAPI:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # uvicorn has a process for each core
    session = onnxruntime.InferenceSession(
        os.environ["DIGITS"], options,
        providers=["CPUExecutionProvider"])
    app = FastAPI()

    @app.get("/v2/models/digits/ready")
    def ready() -> dict:
        return {"ready": True}

    @app.post("/v2/models/digits/infer")
    async def infer(request: dict) -> dict:
        image = request["inputs"][0]
        values = np.array(image["data"], np.float32).reshape(image["shape"])
        (result,) = session.run(None, {"image": values})
        return {"model_name": "digits", "outputs": [
            {"name": "result0", "datatype": "FP32",
             "shape": list(result.shape), "data": result.ravel().tolist()}]}

    return app


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    given = parser.parse_args()
    os.environ["DIGITS"] = str(given.model)
    uvicorn.run("onnx_server:make_app", factory=True, port=given.port,
                workers=given.workers, log_level="warning")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
