"""Our side of the L2HMC races, from Python: eagerly, staged and called once a
move, or staged with all moves of a block in one scan. Protocol:
bench/README.md."""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "examples/l2hmc")]

import l2hmc  # noqa: E402
import weft  # noqa: E402

from lib import safetensors  # noqa: E402
from lib.serve import serve, timed  # noqa: E402

CHECKED_MOVES = 5


def key_of(move: int) -> weft.Tensor:
    return weft.tensor([1, move])


def write_inputs(path: Path, sampler: l2hmc.L2hmc, chains: int) -> None:
    """The weights, and the random numbers of the checked moves."""
    tensors = {name: variable.numpy()
               for name, variable in sampler.parameters().items()}
    for move in range(CHECKED_MOVES):
        key = key_of(move)
        tensors[f"noise.{move}"] = weft.normal(key, (chains, 2), 0).numpy()
        tensors[f"dice.{move}"] = weft.uniform(key, (chains, 1), 1).numpy()
    safetensors.write(path, tensors)


class Chains:
    def __init__(self, sampler: l2hmc.L2hmc, options: argparse.Namespace):
        self.sampler = sampler
        self.move = (sampler.move if options.form == "eager"
                     else weft.jit(sampler.move))
        self.chains, self.moves = options.chains, options.moves
        self.keys = weft.tensor([[1, move] for move in range(self.moves)])
        self.scanned = weft.jit(self.all_moves)
        self.walk = (self.at_once if options.form == "scan"
                     else self.one_by_one)

    def start(self) -> weft.Tensor:
        return weft.zeros((self.chains, 2))

    def check(self) -> dict:
        x, values = self.start(), []
        for move in range(CHECKED_MOVES):
            x, probability = self.move(x, key_of(move), True)
            values += [abs(x).sum().item(), probability.sum().item()]
        return {"values": values}

    def all_moves(self, x: weft.Tensor, keys: weft.Tensor) -> weft.Tensor:
        def body(x, key):
            following, probability = self.sampler.move(x, key, True)
            return following, probability.sum()
        return weft.scan(body, x, keys)[0]

    def at_once(self, x: weft.Tensor) -> weft.Tensor:
        return self.scanned(x, self.keys)

    def one_by_one(self, x: weft.Tensor) -> weft.Tensor:
        for move in range(self.moves):
            x, _ = self.move(x, key_of(move), True)
        return x

    def block(self) -> int:
        self.walk(self.start())
        return self.moves * self.chains


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("form", choices=("eager", "staged", "scan", "write"))
    parser.add_argument("--chains", type=int, required=True)
    parser.add_argument("--moves", type=int, default=1, help="in one block")
    parser.add_argument("--weights", type=Path, help="for write")
    options = parser.parse_args()
    sampler = l2hmc.L2hmc()
    sampler.initialize(seed=1)
    if options.form == "write":
        write_inputs(options.weights, sampler, options.chains)
        return
    chains = Chains(sampler, options)
    serve({"check": chains.check, "run": lambda: timed(chains.block)})


if __name__ == "__main__":
    main()
