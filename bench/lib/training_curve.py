"""Runs of weft train, and where their curves cross a loss."""

import json
import struct
from pathlib import Path

from lib.bench import Setting
from lib.suite import answer


class Trained:
    """A run's summary, and its metrics epoch by epoch."""

    def __init__(self, summary: dict, folder: Path):
        self.summary = summary
        self.folder = folder
        self.epochs = [json.loads(line) for line in
                       (folder / "metrics.jsonl").read_text().splitlines()]

    @property
    def train_loss(self) -> float:
        return self.epochs[-1]["train_loss"]

    def state(self, name: str) -> float:
        """A number, f64[], of the last checkpoint."""
        raw = (self.folder / "last.safetensors").read_bytes()
        start = 8 + int.from_bytes(raw[:8], "little")
        begin, _ = json.loads(raw[8:start])[name]["data_offsets"]
        return struct.unpack_from("<d", raw, start + begin)[0]

    def first_below(self, loss: float, over: str) -> float | None:
        """Where `over` ("seconds", "step") the training loss first is at most
        `loss`, on straight lines between epochs; None if nowhere."""
        before = None
        for epoch in self.epochs:
            if epoch["train_loss"] <= loss:
                if before is None:
                    return epoch[over]
                share = ((before["train_loss"] - loss)
                         / (before["train_loss"] - epoch["train_loss"]))
                return before[over] + share * (epoch[over] - before[over])
            before = epoch
        return None


def train(where: Setting, name: str, recipe: str, *sets: str,
          simulate: str | None = None, data: str | None = None) -> Trained:
    folder = where.build / "bench" / f"adversity-{name}"
    command = [where.root / "bin/weft", "train",
               where.root / f"recipes/{recipe}.toml", "--json", "--out", folder]
    if data:
        command += ["--data", where.data_folder(data)]
    if simulate:
        command += ["--simulate", simulate]
    for each in sets:
        command += ["--set", each]
    return Trained(answer(command), folder)
