"""BERT and GPT-2 in PyTorch: one product for queries, keys and values, and the
attention that the library brings."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lib.models import LAYERS, MODELS, WIDTH

HEADS = 12


class Layer(nn.Module):
    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm1 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.causal = causal

    def attention(self, x: Tensor, mask: Tensor | None) -> Tensor:
        batch, length, _ = x.shape
        parts = self.qkv(x).view(batch, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, mask,
                                               is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).reshape(x.shape))

    def dense(self, x: Tensor) -> Tensor:
        return self.down(F.gelu(self.up(x)))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """GPT-2 normalises what goes into each half, BERT what comes out."""
        if self.causal:
            x = x + self.attention(self.norm1(x), mask)
            return x + self.dense(self.norm2(x))
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.dense(x))


class Transformer(nn.Module):
    def __init__(self, words: int, length: int, causal: bool) -> None:
        super().__init__()
        self.words = nn.Embedding(words, WIDTH)
        self.positions = nn.Parameter(torch.empty(length, WIDTH))
        self.layers = nn.ModuleList(Layer(causal) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def embedded(self, tokens: Tensor) -> Tensor:
        return self.words(tokens) + self.positions

    def through(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        for layer in self.layers:
            x = layer(x, mask)
        return x


class Bert(Transformer):
    """Tokens [batch, length] to logits [batch, classes]."""

    def __init__(self) -> None:
        model = MODELS["bert"]
        super().__init__(model.words, model.steps, causal=False)
        self.pooler = nn.Linear(WIDTH, WIDTH)
        self.classifier = nn.Linear(WIDTH, model.classes)

    def forward(self, tokens: Tensor) -> Tensor:
        # Token 0 is padding, but for the first, which stands for the text.
        seen = tokens != 0
        seen[:, 0] = True
        x = self.through(self.norm(self.embedded(tokens)),
                         seen[:, None, None, :])
        return self.classifier(torch.tanh(self.pooler(x[:, 0])))


class Gpt(Transformer):
    """Tokens [length, batch] to logits [length x batch, words]."""

    def __init__(self) -> None:
        model = MODELS["gpt"]
        super().__init__(model.classes, model.steps, causal=True)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.norm(self.through(self.embedded(tokens.T)))
        return F.linear(x.transpose(0, 1), self.words.weight).flatten(0, 1)


CLASSES = {"bert": Bert, "gpt": Gpt}


def build(name: str, weights: dict[str, np.ndarray]) -> nn.Module:
    """The model, holding `weights`; a name or shape that is off raises."""
    module = CLASSES[name]()
    module.load_state_dict(_converted(weights))
    return module


def _converted(weights: dict[str, np.ndarray]) -> dict[str, Tensor]:
    """Under the names above: [in, out] to [out, in], and queries, keys and
    values one behind the other."""
    found: dict[str, Tensor] = {}
    for key, array in weights.items():
        value = torch.tensor(array)
        name = key.replace("embedding.words", "words").replace(
            "embedding.positions.weight", "positions").replace(
            "attention.out", "out")
        if value.dim() == 2 and not key.startswith("embedding"):
            value = value.T.contiguous()
        for part in ("query", "key", "value"):
            name = name.replace(f"attention.{part}", "qkv")
        found[name] = (torch.cat((found[name], value)) if name in found
                       else value)
    return found
