"""Opacus on the network of recipes/mnist-private.toml: examples a second of its
private steps, with Poisson sampling, on as many threads."""

import argparse
import json
import time
import warnings

import torch
from opacus import PrivacyEngine
from torch import nn

warnings.filterwarnings("ignore")


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, padding=3), nn.ReLU(), nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.MaxPool2d(2, 1),
        nn.Flatten(), nn.Linear(32 * 4 * 4, 32), nn.ReLU(), nn.Linear(32, 10))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--mode", default="hooks")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    examples = 60_000
    data = torch.utils.data.TensorDataset(
        torch.rand(examples, 1, 28, 28), torch.randint(0, 10, (examples,)))
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.15)
    loader = torch.utils.data.DataLoader(data, batch_size=256)
    criterion = nn.CrossEntropyLoss()
    made = PrivacyEngine().make_private(
        module=model, optimizer=optimizer, data_loader=loader,
        criterion=criterion, noise_multiplier=1.3, max_grad_norm=1.0,
        grad_sample_mode=arguments.mode)
    # Ghost clipping brings a criterion of its own.
    model, optimizer, *criteria, loader = made
    criterion = criteria[0] if criteria else criterion
    done = count = 0
    start = time.perf_counter()
    while done < arguments.steps:
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            done += 1
            if done == 5:  # what is made once is made
                count, start = 0, time.perf_counter()
            count += len(x)
            if done >= arguments.steps:
                break
    print(json.dumps({"samples_per_s": count / (time.perf_counter() - start)}))


if __name__ == "__main__":
    main()
