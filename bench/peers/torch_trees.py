"""PyTorch's side of the race over parse trees, eagerly. Protocol:
bench/README.md."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402

from lib import safetensors  # noqa: E402
from lib.serve import baseline, memory, serve, timed  # noqa: E402
from torch_tree_lstm import FORMS  # noqa: E402
from tree_bank import Trees  # noqa: E402

CHECKED_STEPS, DISTINCT_BATCHES = 5, 8
# They are those of recipes/sst-treelstm.toml. The decay moves every row of the
# embedding in every step, so that sparse gradients would be of no use (and
# PyTorch's AdaGrad refuses them).
LEARNING_RATE, WEIGHT_DECAY = 0.05, 1e-4


class Racer:
    def __init__(self, options: argparse.Namespace):
        trees = Trees(options.data / "train.txt", options.batch,
                      DISTINCT_BATCHES)
        self.model = FORMS[options.form](safetensors.read(options.weights))
        self.optimizer = torch.optim.Adagrad(
            self.model.parameters.values(), lr=LEARNING_RATE,
            weight_decay=WEIGHT_DECAY, eps=1e-10)
        self.batches = [self.model.prepare(roots, trees.numbers.__getitem__)
                        for roots in trees.batches]
        self.options, self.done = options, 0

    def step(self) -> float:
        batch = self.batches[self.done % len(self.batches)]
        self.done += 1
        self.optimizer.zero_grad()
        loss = self.model.loss(batch)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def check(self) -> dict:
        return {"losses": [self.step() for _ in range(CHECKED_STEPS)]}

    def block(self) -> int:
        for _ in range(self.options.steps):
            self.step()
        return self.options.steps * self.options.batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("form", choices=FORMS)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=1, help="in one block")
    parser.add_argument("--data", type=Path, required=True,
                        help="the folder with train.txt")
    parser.add_argument("--weights", type=Path, required=True)
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    # Rows of words that are not met decay to subnormal numbers, which would
    # cost Intel's processors a third of a step.
    torch.set_flush_denormal(True)
    empty = baseline()
    racer = Racer(options)
    serve({"check": racer.check, "run": lambda: timed(racer.block),
           "memory": lambda: memory(empty)})


if __name__ == "__main__":
    main()
