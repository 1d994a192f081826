"""PyTorch's side of training by several ranks: DistributedDataParallel over
Gloo, with its own compressing hooks. One process per rank, as torchrun or the
network lab's plain launcher starts them.

The ranks take their rows of the same batches that Weft's workers see, cut and
mirrored as theirs are (by other random numbers), from the same weights, with
the same schedule. Rank 0 prints one JSON object.
"""

import argparse
import json
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.algorithms.ddp_comm_hooks import (  # noqa: E402
    default_hooks, powerSGD_hook)
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

from lib import datasets, safetensors  # noqa: E402
from lib.curves import Curve  # noqa: E402
from lib.models import MODELS  # noqa: E402
from training import Training, tensors  # noqa: E402

HOOKS = ("none", "fp16", "powersgd")
POWER_RANK = 2
POWER_START = 10  # steps that are sent whole before the hook begins
EVALUATION_BATCH = 250


@dataclass(frozen=True)
class Cosine:
    """As weft/optim/schedule.h: the last of `steps` stands at `to`."""
    start: float
    to: float
    warmup: int
    steps: int

    def at(self, step: int) -> float:
        if step < self.warmup:
            return self.start * (step + 1) / self.warmup
        span = max(self.steps - self.warmup - 1, 1)
        progress = min((step - self.warmup) / span, 1.0)
        return (self.to + (self.start - self.to)
                * (1 + math.cos(math.pi * progress)) / 2)


class DataParallel(Training):
    """A Training whose gradients are the mean over all ranks."""

    def __init__(self, weights: dict[str, np.ndarray], hook: str, dtype: str,
                 bucket_mib: float | None):
        super().__init__(MODELS["resnet20"], weights, dtype)
        if hook == "powersgd":  # it takes gradients as matrices, in place
            self.module = self.module.to(
                memory_format=torch.contiguous_format)
        self.alone = self.module  # for measuring, without communication
        # Weft's workers keep their own statistics while they train, too.
        # PowerSGD starts all-reduces from the callbacks of others: with more
        # than one bucket their order differs between ranks, and Gloo takes
        # one for another ("636 vs 64"). The model fits into one.
        self.module = DistributedDataParallel(
            self.module, broadcast_buffers=False,
            bucket_cap_mb=25 if hook == "powersgd" else bucket_mib)
        if hook == "fp16":
            self.module.register_comm_hook(
                dist.group.WORLD, default_hooks.fp16_compress_hook)
        elif hook == "powersgd":
            state = powerSGD_hook.PowerSGDState(
                dist.group.WORLD, matrix_approximation_rank=POWER_RANK,
                start_powerSGD_iter=POWER_START)
            self.module.register_comm_hook(state,
                                           powerSGD_hook.powerSGD_hook)

    def set_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def share_statistics(self) -> None:
        """Rank 0's, as Weft does before it measures."""
        for buffer in self.alone.buffers():
            dist.broadcast(buffer, src=0)

    def accuracy(self, images: np.ndarray, labels: np.ndarray) -> float:
        """On all ranks' shares of the test images together."""
        self.share_statistics()
        self.alone.eval()
        right = torch.zeros(1)
        with torch.no_grad(), self._autocast():
            rank, ranks = dist.get_rank(), dist.get_world_size()
            mine = slice(rank, None, ranks)
            own_images, own_labels = images[mine], labels[mine]
            for start in range(0, len(own_images), EVALUATION_BATCH):
                inputs, wanted = tensors(
                    own_images[start:start + EVALUATION_BATCH],
                    own_labels[start:start + EVALUATION_BATCH])
                right += (self.alone(inputs).argmax(1) == wanted).sum()
        self.alone.train()
        dist.all_reduce(right)
        return right.item() / len(images)


def sent_bytes() -> int:
    """The bytes that all network devices but the loopback one sent."""
    total = 0
    for line in Path("/proc/self/net/dev").read_text().splitlines()[2:]:
        device, counts = line.split(":")
        if device.strip() != "lo":
            total += int(counts.split()[8])
    return total


def augmented(images: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Cut out of a frame of four pixels, and mirrored half of the time."""
    count, height, width, _ = images.shape
    framed = np.pad(images, ((0, 0), (4, 4), (4, 4), (0, 0)))
    tops, lefts = random.integers(0, 9, (2, count))
    cut = np.stack([image[top:top + height, left:left + width]
                    for image, top, left in zip(framed, tops, lefts)])
    mirrored = random.random(count) < 0.5
    cut[mirrored] = cut[mirrored, :, ::-1]
    return cut


def own_rows(batch: np.ndarray) -> np.ndarray:
    rank, ranks = dist.get_rank(), dist.get_world_size()
    return batch[len(batch) * rank // ranks:len(batch) * (rank + 1) // ranks]


def train(options: argparse.Namespace) -> dict:
    weights = {name: value for name, value
               in safetensors.read(options.weights).items()
               if not name.startswith("optimizer.")}
    training = DataParallel(weights, options.hook, options.dtype,
                            options.bucket_mib)
    schedule = Cosine(options.lr, options.lr_end, options.warmup,
                      options.schedule_steps or options.steps)
    batches = datasets.batches(
        Curve("", "resnet20", "cifar10", options.batch), MODELS["resnet20"],
        options.data)
    test = datasets.cifar10_test(options.data) if options.eval_every else None
    random = np.random.default_rng(dist.get_rank())
    step_seconds, losses, curve = [], [], []
    sent, trained_s = 0, 0.0
    for step in range(options.steps):
        images, labels = next(batches)
        inputs, wanted = tensors(augmented(own_rows(images), random),
                                 own_rows(labels))
        training.set_rate(schedule.at(step))
        before = sent_bytes()
        start = time.perf_counter()
        losses.append(training.step(inputs, wanted))
        step_seconds.append(time.perf_counter() - start)
        trained_s += step_seconds[-1]
        sent += sent_bytes() - before
        if test and (step + 1) % options.eval_every == 0:
            curve.append({"step": step + 1, "seconds": trained_s,
                          "accuracy": training.accuracy(*test)})
    return {"hook": options.hook, "ranks": dist.get_world_size(),
            "step_seconds": step_seconds, "own_losses": losses,
            "bytes_sent": sent / options.steps, "curve": curve,
            "losses": mean_over_ranks(losses)}


def mean_over_ranks(values: list[float]) -> list[float]:
    mean = torch.tensor(values, dtype=torch.float64)
    dist.all_reduce(mean)
    return (mean / dist.get_world_size()).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hook", choices=HOOKS, default="none")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--batch", type=int, default=128,
                        help="of all ranks together")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--lr-end", type=float, default=0.001)
    parser.add_argument("--warmup", type=int, default=0)
    parser.add_argument("--bucket-mib", type=float,
                        help="of gradients in a message (default: DDP's, 1 "
                        "for the first and 25 for others); PowerSGD has one")
    parser.add_argument("--schedule-steps", type=int, default=0,
                        help="of the whole schedule, if that is longer")
    parser.add_argument("--eval-every", type=int, default=0,
                        help="steps between measurements of the accuracy")
    options = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    result = train(options)
    if dist.get_rank() == 0:
        print(json.dumps(result))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
