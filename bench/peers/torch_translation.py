"""PyTorch's side of recipes/multi30k.toml: from the same weights, by the same
batches and rates, for as many steps. Prints one JSON object."""

import argparse
import json
import sys
from math import cos, pi
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

from lib import safetensors  # noqa: E402
from lib.bleu import bleu  # noqa: E402
from lib.parallel_text import PADDING, Multi30k, epoch_order, padded  # noqa: E402
from torch_seq2seq import Seq2seq, translate  # noqa: E402

BEAM, GROUP = 4, 32


def rate(step: int, steps: int, options: argparse.Namespace) -> float:
    """A cosine behind a warm-up, as weft/optim/schedule.cpp has it."""
    if step < options.warmup:
        return options.rate * (step + 1) / options.warmup
    progress = (step - options.warmup) / (steps - options.warmup - 1)
    return options.last_rate + (options.rate - options.last_rate) * (
        1 + cos(pi * progress)) / 2


def loss_of(model: Seq2seq, source: np.ndarray, target: np.ndarray,
            smoothing: float, reduction: str) -> torch.Tensor:
    words = torch.tensor(target)
    logits = model.logits(model.decode(*model.encode(torch.tensor(source)),
                                       words[:, :-1]))
    return F.cross_entropy(logits.flatten(0, 1), words[:, 1:].flatten(),
                           ignore_index=PADDING, label_smoothing=smoothing,
                           reduction=reduction)


def train(model: Seq2seq, data: Multi30k, options: argparse.Namespace) -> float:
    """Returns the seconds that it took."""
    parameters = list(model.parameters.values())
    optimizer = torch.optim.Adam(parameters, betas=(0.9, 0.98), eps=1e-8,
                                 fused=True)
    begin, done = perf_counter(), 0
    for epoch in range(options.epochs):
        order = epoch_order(data.train, options.batch, options.seed, epoch)
        for rows in order:
            for group in optimizer.param_groups:
                group["lr"] = rate(done, options.epochs * len(order), options)
            optimizer.zero_grad()
            loss = loss_of(model, *data.train.batch(rows), options.smoothing,
                           "mean")
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            done += 1
            if done % 100 == 0:
                print(f"step {done} loss {loss.item():.4f} "
                      f"{perf_counter() - begin:.0f} s", file=sys.stderr,
                      flush=True)
    return perf_counter() - begin


@torch.no_grad()
def test_loss(model: Seq2seq, data: Multi30k, batch: int) -> float:
    total, words = 0.0, 0
    for at in range(0, len(data.test.source), batch):
        rows = np.arange(at, min(at + batch, len(data.test.source)))
        source, target = data.test.batch(rows)
        total += loss_of(model, source, target, 0, "sum").item()
        words += int((target[:, 1:] != PADDING).sum())
    return total / words


def test_bleu(model: Seq2seq, data: Multi30k) -> float:
    order = sorted(range(len(data.test.source)),
                   key=lambda row: len(data.test.source[row]))
    found: dict[int, list[int]] = {}
    for at in range(0, len(order), GROUP):
        group = order[at:at + GROUP]
        sources = [data.test.source[row] for row in group]
        longest = len(sources[-1])
        found |= zip(group, translate(model, padded(sources, 2 * longest),
                                      longest, BEAM))
    return bleu([found[row] for row in range(len(order))],
                [sentence[1:-1] for sentence in data.test.target])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--last-rate", type=float, required=True)
    parser.add_argument("--warmup", type=int, required=True)
    parser.add_argument("--smoothing", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    weights = {name: value
               for name, value in safetensors.read(options.weights).items()
               if not name.startswith("optimizer.")}
    data, model = Multi30k(options.data), Seq2seq(weights)
    first = epoch_order(data.train, options.batch, options.seed, 0)[0]
    first_loss = loss_of(model, *data.train.batch(first), 0, "mean").item()
    seconds = train(model, data, options)
    print(json.dumps({"first_loss": first_loss,
                      "loss": test_loss(model, data, options.batch),
                      "bleu": test_bleu(model, data),
                      "sentences_per_s": options.epochs *
                      len(data.train.source) / seconds}))


if __name__ == "__main__":
    main()
