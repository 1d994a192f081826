"""What an eager op of PyTorch costs from Python: seconds of each round, as one
line of JSON."""

import argparse
import json
import time

import torch

CALLS = 20_000  # of a round


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    x = torch.ones(16)
    rounds = []
    with torch.no_grad():
        for _ in range(arguments.rounds):
            start = time.perf_counter()
            for _ in range(CALLS):
                x + x
            rounds.append((time.perf_counter() - start) / CALLS)
    print(json.dumps({"eager": rounds}))


if __name__ == "__main__":
    main()
