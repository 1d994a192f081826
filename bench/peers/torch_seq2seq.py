"""The Transformer of weft/nn/models/seq2seq.cpp in PyTorch, and the search of
weft/train/step/beam_search.h."""

from math import log, sqrt

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lib.parallel_text import BEGIN, END, PADDING, UNKNOWN

HEADS = 4


class Seq2seq:
    """The weights have the names that they have in Weft; `heads` are not among
    them."""

    def __init__(self, weights: dict[str, np.ndarray]):
        self.parameters = {name: torch.tensor(value, requires_grad=True)
                           for name, value in weights.items()}
        self.width = weights["source.weight"].shape[1]
        self.layers = sum(name.endswith("norm3.weight") for name in weights)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        mask = (source != PADDING)[:, None, None, :]
        x = self.embed("source", source)
        for i in range(self.layers):
            at = f"encoder{i}"
            rows = self.norm(f"{at}.norm1", x)
            x = x + self.attention(f"{at}.attention", rows, rows, mask)
            x = x + self.dense(at, self.norm(f"{at}.norm2", x))
        return self.norm("encoder_norm", x), mask

    def decode(self, encoded: Tensor, mask: Tensor, told: Tensor) -> Tensor:
        x = self.embed("target", told)
        for i in range(self.layers):
            at = f"decoder{i}"
            rows = self.norm(f"{at}.norm1", x)
            x = x + self.attention(f"{at}.attention", rows, rows, None)
            x = x + self.attention(f"{at}.cross", self.norm(f"{at}.norm2", x),
                                   encoded, mask)
            x = x + self.dense(at, self.norm(f"{at}.norm3", x))
        return self.norm("decoder_norm", x)

    def logits(self, rows: Tensor) -> Tensor:
        return F.linear(rows, self.parameters["target.weight"])

    def embed(self, table: str, words: Tensor) -> Tensor:
        vectors = F.embedding(words, self.parameters[f"{table}.weight"])
        half = self.width // 2
        rate = torch.exp(torch.arange(half) * (-2 * log(10000.0) / self.width))
        angle = torch.arange(words.shape[1])[:, None] * rate
        return vectors * sqrt(self.width) + torch.cat((angle.sin(),
                                                       angle.cos()), 1)

    def norm(self, name: str, x: Tensor) -> Tensor:
        p = self.parameters
        return F.layer_norm(x, (self.width,), p[f"{name}.weight"],
                            p[f"{name}.bias"])

    def linear(self, name: str, x: Tensor) -> Tensor:
        p = self.parameters
        return F.linear(x, p[f"{name}.weight"].T, p[f"{name}.bias"])

    def dense(self, name: str, x: Tensor) -> Tensor:
        return self.linear(f"{name}.down",
                           F.gelu(self.linear(f"{name}.up", x)))

    def attention(self, name: str, x: Tensor, context: Tensor,
                  mask: Tensor | None) -> Tensor:
        def heads(rows: Tensor) -> Tensor:
            return rows.unflatten(2, (HEADS, -1)).transpose(1, 2)
        y = F.scaled_dot_product_attention(
            heads(self.linear(f"{name}.query", x)),
            heads(self.linear(f"{name}.key", context)),
            heads(self.linear(f"{name}.value", context)),
            attn_mask=mask, is_causal=mask is None)
        return self.linear(f"{name}.out", y.transpose(1, 2).flatten(2))


class Beam:
    """The search for one sentence. Beginnings are (words, log probability)."""

    def __init__(self, width: int, most: int):
        self.width, self.most = width, most
        self.beginnings: list[tuple[list[int], float]] = [([], 0.0)]
        self.finished: list[tuple[float, list[int]]] = []

    def extend(self, next_words: Tensor) -> None:
        """One row of log probabilities for each beginning, of which the best
        few, in order, are enough."""
        extended = []
        for (words, cost), row in zip(self.beginnings, next_words):
            end = (cost + row[END].item()) / (len(words) + 1)
            self.finished.append((end, words))
            row[[PADDING, BEGIN, END, UNKNOWN]] = -torch.inf
            best = row.topk(self.width)
            extended += [(words + [word], cost + value) for value, word in
                         zip(best.values.tolist(), best.indices.tolist())]
        self.finished = sorted(self.finished, key=lambda found: -found[0]
                               )[:self.width]
        self.beginnings = sorted(extended, key=lambda one: -one[1])[:self.width]
        words, cost = self.beginnings[0]
        hope = cost / min(len(words) + 1, self.most)
        if len(words) >= self.most or (len(self.finished) == self.width
                                       and hope <= self.finished[-1][0]):
            self.beginnings = []


@torch.no_grad()
def translate(model: Seq2seq, source: np.ndarray, longest: int,
              width: int) -> list[list[int]]:
    """The best translation of each row."""
    encoded, mask = model.encode(torch.tensor(source))
    encoded, mask = (part.repeat_interleave(width, 0)
                     for part in (encoded, mask))
    beams = [Beam(width, 2 * longest + 10) for _ in source]
    length = 0
    while any(beam.beginnings for beam in beams):
        told = torch.full((len(beams) * width, length + 1), BEGIN)
        for i, beam in enumerate(beams):
            for j, (words, _) in enumerate(beam.beginnings):
                told[i * width + j, 1:] = torch.tensor(words)
        rows = model.decode(encoded, mask, told)[:, -1]
        scores = F.log_softmax(model.logits(rows), 1).unflatten(0, (-1, width))
        for beam, own in zip(beams, scores):
            if beam.beginnings:
                beam.extend(own)
        length += 1
    return [beam.finished[0][1] for beam in beams]
