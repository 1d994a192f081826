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
from dataclasses import asdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "peers")]

import torch  # noqa: E402

from lib import datasets, synthetic  # noqa: E402
from lib.curves import CURVES, Curve  # noqa: E402
from lib.measure import largest_gap  # noqa: E402
from lib.models import MODELS  # noqa: E402
from training import Training, tensors  # noqa: E402


def losses(curve: Curve, data: Path, precision: torch.dtype) -> list[float]:
    """The loss of each step, before its update."""
    model = MODELS[curve.model]
    training = Training(model, synthetic.weights(model), precision=precision)
    batches = datasets.batches(curve, model, data)
    result = []
    for batch in itertools.islice(batches, curve.steps):
        inputs, labels = tensors(*batch)
        if inputs.is_floating_point():
            inputs = inputs.to(precision)
        result.append(training.step(inputs, labels))
    return result


def make(curve: Curve, data: Path) -> dict:
    single = losses(curve, data, torch.float32)
    double = losses(curve, data, torch.float64)
    return {
        "name": curve.name, "model": curve.model, "batch": curve.batch,
        "steps": curve.steps,
        "optimizer": asdict(MODELS[curve.model].optimizer),
        "origin": {
            "torch": torch.__version__, "threads": torch.get_num_threads(),
            "command": "python bench/reference/make_curves.py "
                       f"{curve.name} --data DIR",
            "weights": "bench/lib/synthetic.py",
            "order": "bench/lib/datasets.py",
            "data_sha256": {file.name: datasets.sha256(file)
                            for file in datasets.files(curve, data)},
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
