"""PyTorch's side of a training-step race. Protocol: bench/README.md."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402

from lib import safetensors, synthetic  # noqa: E402
from lib.models import MODELS, Model  # noqa: E402
from lib.serve import baseline, memory, serve, timed  # noqa: E402
from training import Training, tensors  # noqa: E402

CHECKED_STEPS = 5


class Racer:
    """The same eight batches over and over, from the shared weights."""

    def __init__(self, model: Model, options: argparse.Namespace):
        self.training = Training(model, safetensors.read(options.weights),
                                 options.dtype, options.compile)
        self.batches = [tensors(*synthetic.batch(model, options.batch, step))
                        for step in range(synthetic.DISTINCT_BATCHES)]
        self.options = options
        self.steps_done = 0

    def step(self) -> float:
        inputs, labels = self.batches[self.steps_done % len(self.batches)]
        self.steps_done += 1
        return self.training.step(inputs, labels)

    def check(self) -> dict:
        return {"losses": [self.step() for _ in range(CHECKED_STEPS)]}

    def block(self) -> int:
        for _ in range(self.options.steps):
            self.step()
        return self.options.steps * self.options.batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=1, help="in one block")
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--compile", action="store_true",
                        help="the loss and its gradient by torch.compile")
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    empty = baseline()
    racer = Racer(MODELS[options.model], options)
    serve({"check": racer.check, "run": lambda: timed(racer.block),
           "memory": lambda: memory(empty)})


if __name__ == "__main__":
    main()
