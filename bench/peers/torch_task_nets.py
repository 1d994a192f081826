"""The peers of recipes: each is made from what weft-bench writes (weights by
their names there, and what is known of the data), tells the loss of a batch, and
metrics of held-out examples."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Adult(nn.Module):
    """recipes/adult.toml. The linear part looks its weights up as well: the same
    sum as by a 1 among zeros, and faster."""

    weight_decay = 1e-4

    def __init__(self, file: dict[str, Tensor]):
        super().__init__()
        counts = file["categories"]
        self.categories = len(counts)
        self.first = counts.cumsum(0) - counts
        self.weights = nn.ParameterDict(
            {name.removeprefix("weights.").replace(".", "_"): nn.Parameter(value)
             for name, value in file.items() if name.startswith("weights.")})

    def forward(self, rows: Tensor) -> Tensor:
        w = self.weights
        numbers = rows[:, :-self.categories]
        categories = rows[:, -self.categories:].long()
        is_known = (categories >= 0).unsqueeze(-1)
        places = categories.clamp(min=0) + self.first
        width = numbers.shape[1]
        wide = torch.addmm(w["wide_out_bias"], numbers,
                           w["wide_out_weight"][:width])
        ones = F.embedding(places, w["wide_out_weight"][width:])
        wide = wide + (ones * is_known).sum(1)
        vectors = F.embedding(places, w["deep_row_weight"]) * is_known
        x = torch.cat((numbers, vectors.flatten(1)), 1)
        for layer in ("fc1", "fc2"):
            x = F.relu(torch.addmm(w[f"deep_{layer}_bias"], x,
                                   w[f"deep_{layer}_weight"]))
        deep = torch.addmm(w["deep_out_bias"], x, w["deep_out_weight"])
        return (wide + deep).flatten()

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            self(batch["features"]), batch["label"].float())

    def measure(self, batch: dict[str, Tensor]) -> dict[str, float]:
        said = self(batch["features"]) >= 0
        hits = said == batch["label"].bool()
        return {"loss": self.loss(batch).item(),
                "accuracy": hits.float().mean().item()}


class Vae(nn.Module):
    """recipes/fashion-vae.toml. The draws are this side's own."""

    weight_decay = 0.0

    def __init__(self, file: dict[str, Tensor]):
        super().__init__()
        torch.manual_seed(1)
        self.weights = nn.ParameterDict(
            {name.removeprefix("weights.").replace(".", "_"): nn.Parameter(value)
             for name, value in file.items() if name.startswith("weights.")})

    def dense(self, name: str, x: Tensor) -> Tensor:
        return torch.addmm(self.weights[f"{name}_bias"], x,
                           self.weights[f"{name}_weight"])

    def terms(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Reconstruction and divergence, summed over the images."""
        x = batch["image"].flatten(1)
        hidden = F.relu(self.dense("encoder", x))
        mean = self.dense("mean", hidden)
        log_variance = self.dense("log_variance", hidden)
        z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        logits = self.dense("output", F.relu(self.dense("decoder", z)))
        divergence = -0.5 * (1 + log_variance - mean.square()
                             - log_variance.exp()).sum()
        return F.binary_cross_entropy_with_logits(
            logits, x, reduction="sum"), divergence

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        return sum(self.terms(batch)) / len(batch["image"])

    def measure(self, batch: dict[str, Tensor]) -> dict[str, float]:
        return {"bound": self.loss(batch).item()}


NETS = {"adult": Adult, "vae": Vae}
