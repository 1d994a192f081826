"""PyTorch's side of a race over a recipe (weft-bench task), eagerly. Protocol:
bench/README.md."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402

from lib import safetensors  # noqa: E402
from lib.serve import baseline, memory, serve, timed  # noqa: E402
from torch_task_nets import NETS  # noqa: E402

CHECKED_STEPS = 5


class Racer:
    def __init__(self, options: argparse.Namespace):
        file = {name: torch.tensor(value)
                for name, value in safetensors.read(options.file).items()}
        self.net = NETS[options.net](file)
        self.rates = file["rates"].tolist()
        self.steps, self.done = options.steps, 0
        # Without decay AdamW is Adam.
        self.optimizer = torch.optim.AdamW(self.net.parameters(), fused=True,
                                           weight_decay=self.net.weight_decay)
        whole = part(file, "train")
        self.batch = len(next(iter(whole.values()))) // self.steps
        self.batches = [
            {name: value[i * self.batch:(i + 1) * self.batch]
             for name, value in whole.items()} for i in range(self.steps)]
        self.held_out = part(file, "held_out")

    def step(self) -> float:
        batch = self.batches[self.done % self.steps]
        for group in self.optimizer.param_groups:
            group["lr"] = self.rates[min(self.done, self.steps - 1)]
        self.done += 1
        self.optimizer.zero_grad()
        loss = self.net.loss(batch)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def check(self) -> dict:
        return {"losses": [self.step() for _ in range(CHECKED_STEPS)]}

    def train(self) -> dict:
        while self.done < self.steps:
            self.step()
        with torch.no_grad():
            return self.net.measure(self.held_out)

    def block(self) -> int:
        for _ in range(self.steps):
            self.step()
        return self.steps * self.batch


def part(file: dict, name: str) -> dict:
    return {key.removeprefix(f"{name}."): value for key, value in file.items()
            if key.startswith(f"{name}.")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("net", choices=NETS)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--file", type=Path, required=True,
                        help="what weft-bench task has written")
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    empty = baseline()
    racer = Racer(options)
    serve({"check": racer.check, "train": racer.train,
           "run": lambda: timed(racer.block), "memory": lambda: memory(empty)})


if __name__ == "__main__":
    main()
