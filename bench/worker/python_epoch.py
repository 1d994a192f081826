"""An epoch of a recipe, step by step from Python: examples a second, as one line
of JSON. Usage: python_epoch.py RECIPE KEY=VALUE…"""

import json
import sys
import time

import weft


def main() -> None:
    settings = dict(setting.split("=", 1) for setting in sys.argv[2:])
    settings = {key: int(value) if value.isdigit() else value
                for key, value in settings.items()}
    step = weft.train.Step(sys.argv[1], settings)
    # The first batch plans the step, as the trainer's does within its time.
    examples = 0
    start = time.perf_counter()
    for batch in step.batches():
        step.train(batch)
        examples += batch[0].shape[0]
    print(json.dumps({"samples_per_s":
                      examples / (time.perf_counter() - start)}))


if __name__ == "__main__":
    main()
