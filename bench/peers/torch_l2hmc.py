"""PyTorch's side of the L2HMC races: what examples/l2hmc computes, a move under
torch.compile. Protocol: bench/README.md.

A move draws its own random numbers, as ours does; the checked moves are given
ours, so that answers can be compared.
"""

import argparse
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from lib import safetensors  # noqa: E402
from lib.serve import serve, timed  # noqa: E402

STEPS, EPSILON = 10, 0.1  # leapfrog steps and their size
CHECKED_MOVES = 5
Weights = dict[str, Tensor]


def row_sum(x: Tensor) -> Tensor:
    return x.sum(1, keepdim=True)


def energy(x: Tensor) -> Tensor:
    near = row_sum((x - 2).square()) * 0.5
    far = row_sum((x + 2).square()) * 0.5
    least = torch.minimum(near, far)
    return least - torch.log(torch.exp(least - near) + torch.exp(least - far))


slope_of = torch.func.grad(lambda x: energy(x).sum())


def total_energy(x: Tensor, v: Tensor) -> Tensor:
    return energy(x) + row_sum(v.square()) * 0.5


def bend(weights: Weights, network: str, first: Tensor, second: Tensor,
         time: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    def linear(name: str, x: Tensor) -> Tensor:
        path = f"{network}.{name}"
        return torch.addmm(weights[f"{path}.bias"], x,
                           weights[f"{path}.weight"])

    h = (linear("from_first", first) + linear("from_second", second)
         + linear("from_time", time))
    h = torch.relu(linear("inner", torch.relu(h)))
    return (torch.tanh(linear("scale", h)), linear("translation", h),
            torch.tanh(linear("transformation", h)))


def push(weights: Weights, x: Tensor, v: Tensor, log_jacobian: Tensor,
         t: Tensor) -> tuple[Tensor, Tensor]:
    slope = slope_of(x)
    scale, translation, transformation = bend(weights, "momentum", x, slope, t)
    bent = slope * torch.exp(transformation * EPSILON) + translation
    v = v * torch.exp(scale * (EPSILON / 2)) - bent * (EPSILON / 2)
    return v, log_jacobian + row_sum(scale) * (EPSILON / 2)


def drift(weights: Weights, x: Tensor, v: Tensor, log_jacobian: Tensor,
          t: Tensor, moving: Tensor, resting: Tensor) -> tuple[Tensor, Tensor]:
    scale, translation, transformation = bend(weights, "position",
                                              x * resting, v, t)
    moved = (x * torch.exp(scale * EPSILON)
             + (v * torch.exp(transformation * EPSILON) + translation)
             * EPSILON)
    return (x * resting + moved * moving,
            log_jacobian + row_sum(scale * moving) * EPSILON)


def move_with(weights: Weights, start: Tensor, noise: Tensor,
              dice: Tensor) -> tuple[Tensor, Tensor]:
    x, v, log_jacobian = start, noise, torch.zeros(start.shape[0], 1)
    before = total_energy(x, v)
    for step in range(STEPS):
        turn = 2 * math.pi * step / STEPS
        t = torch.tensor([[math.cos(turn), math.sin(turn)]]).expand(x.shape)
        first = torch.tensor([[float(step % 2 == 0), float(step % 2 != 0)]])
        v, log_jacobian = push(weights, x, v, log_jacobian, t)
        x, log_jacobian = drift(weights, x, v, log_jacobian, t, first,
                                1 - first)
        x, log_jacobian = drift(weights, x, v, log_jacobian, t, 1 - first,
                                first)
        v, log_jacobian = push(weights, x, v, log_jacobian, t)
    change = before - total_energy(x, v) + log_jacobian
    probability = torch.exp(torch.clamp(change, max=0))
    return torch.where(dice < probability, x, start), probability


@torch.compile
def move(weights: Weights, x: Tensor) -> tuple[Tensor, Tensor]:
    return move_with(weights, x, torch.randn_like(x),
                     torch.rand(x.shape[0], 1))


class Chains:
    def __init__(self, options: argparse.Namespace):
        self.inputs = {name: torch.tensor(value) for name, value
                       in safetensors.read(options.weights).items()}
        self.weights = {name: value for name, value in self.inputs.items()
                        if name.startswith(("momentum", "position"))}
        self.chains, self.moves = options.chains, options.moves

    def start(self) -> Tensor:
        return torch.zeros(self.chains, 2)

    @torch.no_grad()
    def check(self) -> dict:
        x, values = self.start(), []
        checked = torch.compile(move_with)
        for i in range(CHECKED_MOVES):
            x, probability = checked(
                self.weights, x, self.inputs[f"noise.{i}"],
                self.inputs[f"dice.{i}"])
            values += [x.abs().sum().item(), probability.sum().item()]
        return {"values": values}

    @torch.no_grad()
    def block(self) -> int:
        x = self.start()
        for _ in range(self.moves):
            x, _ = move(self.weights, x)
        x.sum().item()
        return self.moves * self.chains


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chains", type=int, required=True)
    parser.add_argument("--moves", type=int, default=1, help="in one block")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--weights", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    chains = Chains(options)
    serve({"check": chains.check, "run": lambda: timed(chains.block)})


if __name__ == "__main__":
    main()
