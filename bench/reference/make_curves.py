"""Trains with PyTorch and stores the losses that Weft's must track.

Same initial weights (lib/synthetic.py), same data in the same order
(lib/datasets.py), f32, no augmentation, no dropout. Each curve also says how
far the same run goes from it when its initial weights are nudged by about the
last bit: what rounding alone does to the losses.

    python bench/reference/make_curves.py resnet20 --data DIR
"""

import argparse
import itertools
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "peers")]

import numpy as np  # noqa: E402
import torch  # noqa: E402

from lib import datasets, synthetic  # noqa: E402
from lib.curves import CURVES, Curve  # noqa: E402
from lib.measure import largest_gap  # noqa: E402
from lib.models import MODELS  # noqa: E402
from training import Training, tensors  # noqa: E402


def losses(curve: Curve, data: Path,
           weights: dict[str, np.ndarray]) -> list[float]:
    """The loss of each step, before its update."""
    model = MODELS[curve.model]
    training = Training(model, weights)
    batches = datasets.batches(curve, model, data)
    return [training.step(*tensors(*batch))
            for batch in itertools.islice(batches, curve.steps)]


def nudged(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every number times 1 + 2^-23 or 1 - 2^-23, by a coin."""
    coin = np.random.default_rng(0)
    factors = np.array([1 - 2.0**-23, 1 + 2.0**-23], dtype=np.float32)
    return {name: value * coin.choice(factors, value.shape)
            for name, value in weights.items()}


def make(curve: Curve, data: Path) -> dict:
    model = MODELS[curve.model]
    weights = synthetic.weights(model)
    reference = losses(curve, data, weights)
    beside = losses(curve, data, nudged(weights))
    return {
        "name": curve.name, "model": curve.model, "batch": curve.batch,
        "steps": curve.steps,
        "optimizer": asdict(model.optimizer),
        "origin": {
            "torch": torch.__version__, "threads": torch.get_num_threads(),
            "command": "python bench/reference/make_curves.py "
                       f"{curve.name} --data DIR",
            "weights": "bench/lib/synthetic.py",
            "order": "bench/lib/datasets.py",
            "data_sha256": {file.name: datasets.sha256(file)
                            for file in datasets.files(curve, data)},
        },
        "largest_relative_gap_when_nudged": largest_gap(beside, reference),
        "losses": reference,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("curves", nargs="*", default=list(CURVES))
    parser.add_argument("--data", type=Path, default=os.environ.get("WEFT_DATA"))
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.data is None:
        parser.error("say where the data are: --data DIR or WEFT_DATA")
    torch.set_num_threads(options.threads)
    for name in options.curves:
        reference = make(CURVES[name], options.data)
        path = HERE / f"{name}.json"
        path.write_text(json.dumps(reference, indent=1) + "\n")
        print(f"{path.name}: nudged, it differs by at most "
              f"{reference['largest_relative_gap_when_nudged']:.1e}")


if __name__ == "__main__":
    main()
