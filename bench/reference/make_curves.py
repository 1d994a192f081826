"""Trains with PyTorch and stores the losses that Weft's must track.

Same initial weights (lib/synthetic.py), same data in the same order
(lib/datasets.py), f32, no augmentation, no dropout. Each curve also says how
far the same run in f64 lies from it: what rounding alone does to the losses.

    python bench/reference/make_curves.py resnet20 --data DIR
"""

import argparse
import itertools
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "peers")]

import torch  # noqa: E402

from lib import datasets, synthetic  # noqa: E402
from lib.curves import CURVES, Curve  # noqa: E402
from lib.models import MODELS  # noqa: E402
from training import Training, tensors  # noqa: E402


def batches(curve: Curve, data: Path) -> datasets.Batches:
    if curve.data == "cifar10":
        return datasets.cifar10_batches(data, curve.batch)
    return datasets.ptb_batches(data, curve.batch, MODELS[curve.model].steps)


def files(curve: Curve, data: Path) -> list[Path]:
    if curve.data == "cifar10":
        return datasets.cifar10_files(data)
    return [datasets.ptb_file(data)]


def losses(curve: Curve, data: Path, precision: torch.dtype) -> list[float]:
    """The loss of each step, before its update."""
    model = replace(MODELS[curve.model], optimizer=curve.optimizer)
    training = Training(model, synthetic.weights(model), precision=precision)
    state, result = None, []
    for batch in itertools.islice(batches(curve, data), curve.steps):
        inputs, labels = tensors(*batch)
        if inputs.is_floating_point():
            inputs = inputs.to(precision)
        loss, state = training.step(inputs, labels,
                                    state if curve.carries_state else None)
        result.append(loss)
    return result


def largest_gap(ours: list[float], theirs: list[float]) -> float:
    return max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))


def make(curve: Curve, data: Path) -> dict:
    single = losses(curve, data, torch.float32)
    double = losses(curve, data, torch.float64)
    return {
        "name": curve.name, "model": curve.model, "batch": curve.batch,
        "steps": curve.steps, "carries_state": curve.carries_state,
        "optimizer": asdict(curve.optimizer),
        "origin": {
            "torch": torch.__version__, "threads": torch.get_num_threads(),
            "command": "python bench/reference/make_curves.py "
                       f"{curve.name} --data DIR",
            "weights": "lib/synthetic.py", "order": "lib/datasets.py",
            "data_sha256": {file.name: datasets.sha256(file)
                            for file in files(curve, data)},
        },
        "largest_relative_gap_to_f64": largest_gap(single, double),
        "losses": single,
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
        print(f"{path.name}: f32 and f64 differ by at most "
              f"{reference['largest_relative_gap_to_f64']:.1e}")


if __name__ == "__main__":
    main()
