#!/usr/bin/env python3
"""What dp-accounting says of mechanisms, as JSON: a list of their texts, as
`weft budget account` reads them, each with the epsilons of both accountants.

    dp_accounting_epsilons.py DELTA [--quick]
"""

import argparse
import json
from collections.abc import Iterator

from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.rdp import rdp_privacy_accountant

NOISES = (0.6, 0.8, 1.0, 1.5, 3.0, 10.0)
# Examples in a batch over all, and epochs: those of papers on DP-SGD.
RATES = (256 / 60_000, 2048 / 60_000, 4096 / 50_000, 512 / 1_200_000)
EPOCHS = (1, 15, 60)
MOST_EPSILON = 30  # which is no privacy


def repeated(event: dp_event.DpEvent, steps: int) -> dp_event.DpEvent:
    return dp_event.SelfComposedDpEvent(event, steps)


def sampled(noise: float, rate: float) -> dp_event.DpEvent:
    return dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(noise))


def settings() -> Iterator[tuple[str, dp_event.DpEvent]]:
    for noise in NOISES:
        for rate in RATES:
            for epochs in EPOCHS:
                steps = round(epochs / rate)
                yield (f"subsampled_gaussian(noise={noise}, rate={rate!r}, "
                       f"steps={steps})", repeated(sampled(noise, rate), steps))
    for noise in (1.0, 5.0, 50.0):
        for steps in (1, 20, 400):
            if steps < 10 * noise**2:
                yield (f"gaussian(noise={noise}, steps={steps})",
                       repeated(dp_event.GaussianDpEvent(noise), steps))
                yield (f"laplace(noise={noise}, steps={steps})",
                       repeated(dp_event.LaplaceDpEvent(noise), steps))
    yield ("subsampled_gaussian(noise=1, rate=0.02, steps=200) + "
           "laplace(noise=5) + gaussian(noise=8, steps=3)",
           dp_event.ComposedDpEvent([
               repeated(sampled(1, 0.02), 200), dp_event.LaplaceDpEvent(5),
               repeated(dp_event.GaussianDpEvent(8), 3)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("delta", type=float)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    found = []
    for i, (text, event) in enumerate(settings()):
        if options.quick and i % 8:
            continue
        renyi = rdp_privacy_accountant.RdpAccountant().compose(event)
        by_curve = float(renyi.get_epsilon(options.delta))
        # There it leaves out orders whose series does not end in 1,000 terms.
        if by_curve > MOST_EPSILON:
            continue
        loss = pld_privacy_accountant.PLDAccountant().compose(event)
        found.append({"mechanisms": text, "rdp": by_curve,
                      "pld": float(loss.get_epsilon(options.delta))})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
