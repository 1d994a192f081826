"""Writes the initial weights that both sides start from."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lib import safetensors, synthetic  # noqa: E402
from lib.models import MODELS  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    safetensors.write(options.out, synthetic.weights(MODELS[options.model]))


if __name__ == "__main__":
    main()
