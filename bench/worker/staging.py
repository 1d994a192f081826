"""Our side of the races of staged against eager training, from Python. A step
is a loss, its gradient and an update, over the same batch. Protocol:
bench/README.md."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import weft  # noqa: E402
from weft import nn, optim  # noqa: E402

from lib.serve import serve, timed  # noqa: E402

CHECKED_STEPS = 5
CLASSES = 10
EXAMPLES = {"mlp": (784,), "resnet20": (32, 32, 3)}
KEY = (1, 0)  # of the batch's random numbers


class Racer:
    def __init__(self, options: argparse.Namespace):
        batch = options.batch
        self.model = nn.model(options.model, EXAMPLES[options.model], CLASSES)
        self.model.initialize(seed=1)
        self.trainable = self.model.parameters(trainable_only=True)
        self.optimizer = optim.momentum(self.trainable, lr=0.01)
        key = weft.tensor(KEY)
        self.images = weft.uniform(key, (batch, *EXAMPLES[options.model]), 0)
        self.labels = weft.tensor([i % CLASSES for i in range(batch)])
        self.step = self.train if options.form == "eager" else weft.jit(
            self.train)
        self.options = options

    def train(self, images: weft.Tensor, labels: weft.Tensor) -> weft.Tensor:
        loss, gradients = weft.value_and_grad(
            lambda: weft.cross_entropy(self.model(images), labels).mean(),
            wrt=self.trainable)()
        self.optimizer.update(gradients)
        return loss

    def run(self, steps: int) -> list[float]:
        return [self.step(self.images, self.labels).item()
                for _ in range(steps)]

    def check(self) -> dict:
        return {"losses": self.run(CHECKED_STEPS)}

    def block(self) -> int:
        self.run(self.options.steps)
        return self.options.steps * self.options.batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("form", choices=("eager", "staged"))
    parser.add_argument("model", choices=EXAMPLES)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, default=1, help="in one block")
    racer = Racer(parser.parse_args())
    serve({"check": racer.check, "run": lambda: timed(racer.block)})


if __name__ == "__main__":
    main()
