"""ResNet-20 on CIFAR-10 by YellowFin in PyTorch, as the paper (Zhang and
Mitliagkas, 2019, algorithms 1 to 5) and its authors' constants have it: the
losses of epochs, and what it has chosen at the end."""

import argparse
import json
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

from lib import datasets  # noqa: E402
from torch_models import ResNet20  # noqa: E402

DECAY, WINDOW, SLOW_START, GUARD = 0.999, 20, 200, 100.0
SMALL = 1e-6


class YellowFin:
    def __init__(self, parameters: list[torch.nn.Parameter]):
        self.parameters = parameters
        self.mean = [torch.zeros_like(p) for p in parameters]
        self.velocity = [torch.zeros_like(p) for p in parameters]
        self.steps = 0
        self.window: list[float] = []
        self.moving: dict[str, float] = {}
        self.rate, self.momentum = 1e-4, 0.0

    def follow(self, name: str, value: float) -> float:
        """A moving mean, without the zero that it begins with."""
        self.moving[name] = (DECAY * self.moving.get(name, 0)
                             + (1 - DECAY) * value)
        return self.moving[name] / (1 - DECAY ** self.steps)

    @torch.no_grad()
    def step(self) -> None:
        self.steps += 1
        gradients = [p.grad for p in self.parameters]
        square = sum(float((g.double() ** 2).sum()) for g in gradients)
        if self.steps > 1:  # what explodes is not measured whole
            guarded = min(1.0, math.sqrt(GUARD * self.most / square))
            scale = min(1.0, math.sqrt(self.most / square))
        else:
            guarded = scale = 1.0
        self.tune([g * guarded for g in gradients], square * guarded**2)
        for p, v, g in zip(self.parameters, self.velocity, gradients):
            v.mul_(self.momentum).add_(g, alpha=scale)
            p.sub_(v, alpha=self.rate)

    def tune(self, gradients: list[torch.Tensor], square: float) -> None:
        self.window = [*self.window, square + SMALL][-WINDOW:]
        least = math.exp(self.follow("least", math.log(min(self.window))))
        self.most = math.exp(self.follow("most", math.log(max(self.window))))
        squares = self.follow("square", square)
        norm = self.follow("norm", math.sqrt(square))
        distance = self.follow("distance", norm / (squares + SMALL))
        whole = 1 - DECAY ** self.steps
        of_mean = 0.0
        for mean, g in zip(self.mean, gradients):
            mean.mul_(DECAY).add_(g, alpha=1 - DECAY)
            of_mean += float((mean.double() ** 2).sum()) / whole**2
        variance = max(squares - of_mean, SMALL)
        if self.steps == 1:
            return
        # The root of p x = (1 - x)^3, by halving.
        p = distance**2 * least**2 / (2 * variance)
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            if p * middle < (1 - middle) ** 3:
                low = middle
            else:
                high = middle
        ratio = math.sqrt(self.most / least)
        root = max(low, (ratio - 1) / (ratio + 1))
        self.momentum = root**2
        self.rate = ((1 - root) ** 2 / least
                     * min(1.0, self.steps / SLOW_START))


def changed(images: np.ndarray, draws: np.random.Generator) -> torch.Tensor:
    """Cropped out of a border of four zeros, and flipped by a coin: [N, C, H,
    W] in channels-last memory."""
    padded = np.pad(images, ((0, 0), (4, 4), (4, 4), (0, 0)))
    rows = []
    for image, (top, left), flips in zip(
            padded, draws.integers(0, 9, (len(images), 2)),
            draws.integers(0, 2, len(images))):
        image = image[top:top + 32, left:left + 32]
        rows.append(image[:, ::-1] if flips else image)
    return torch.tensor(np.stack(rows)).permute(0, 3, 1, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(1)
    draws = np.random.default_rng(1)
    images, labels = datasets.cifar10(given.data)
    model = ResNet20().to(memory_format=torch.channels_last)
    optimizer = YellowFin(list(model.parameters()))
    losses = []
    for _ in range(given.epochs):
        order = draws.permutation(len(images))
        total = 0.0
        for start in range(0, len(order), given.batch):
            rows = order[start:start + given.batch]
            model.zero_grad()
            loss = F.cross_entropy(model(changed(images[rows], draws)),
                                   torch.tensor(labels[rows]))
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        losses.append(total / len(images))
    print(json.dumps({"losses": losses, "rate": optimizer.rate,
                      "momentum": optimizer.momentum}))


if __name__ == "__main__":
    main()
