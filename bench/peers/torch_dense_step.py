"""PyTorch's side of a training step of DenseNet-BC: torchvision's network with
the beginning that small images get (Huang et al., 2016, section 4.1), on random
weights and one batch. Protocol: bench/README.md."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torchvision.models import DenseNet  # noqa: E402

from lib.serve import serve, timed  # noqa: E402

GROWTH = 12
CLASSES = 10


def densenet_bc(depth: int) -> nn.Module:
    model = DenseNet(GROWTH, 3 * [(depth - 4) // 6], 2 * GROWTH,
                     num_classes=CLASSES)
    features = model.features
    features.conv0 = nn.Conv2d(3, 2 * GROWTH, 3, padding=1, bias=False)
    for name in ("norm0", "relu0", "pool0"):
        delattr(features, name)
    return model.to(memory_format=torch.channels_last)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--side", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--compile", action="store_true",
                        help="the loss and its gradient by torch.compile")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    model = densenet_bc(options.depth)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9)
    images = torch.rand(options.batch, 3, options.side, options.side).to(
        memory_format=torch.channels_last)
    labels = torch.randint(CLASSES, (options.batch,))

    def loss_of(images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(images), labels)

    loss_of_batch = torch.compile(loss_of) if options.compile else loss_of

    def step() -> int:
        optimizer.zero_grad()
        loss = loss_of_batch(images, labels)
        loss.backward()
        optimizer.step()
        loss.item()
        return options.batch

    serve({"run": lambda: timed(step),
           "facts": lambda: {"parameters": sum(p.numel() for p
                                               in model.parameters())}})


if __name__ == "__main__":
    main()
