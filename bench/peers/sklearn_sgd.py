"""Logistic regression by scikit-learn's SGD, one pass after the other until it
reaches a loss: seconds of the passes alone, at the best of several rates."""

import argparse
import json
import time

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier


def loss_of(model: SGDClassifier, x, y) -> float:
    return float(np.mean(np.logaddexp(0, -y * (x @ model.coef_[0]))))


def run(x, y, rate: float, target: float, most: int) -> dict:
    # Cython code over float32 rows, no penalty and no intercept: what we do.
    model = SGDClassifier(loss="log_loss", penalty=None, fit_intercept=False,
                          learning_rate="constant", eta0=rate, random_state=1)
    seconds = 0.0
    for epoch in range(1, most + 1):
        began = time.perf_counter()
        model.partial_fit(x, y, classes=(-1, 1))
        seconds += time.perf_counter() - began
        loss = loss_of(model, x, y)
        if loss <= target:
            break
    return {"rate": rate, "epochs": epoch, "seconds": seconds, "loss": loss}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--target", type=float, required=True)
    parser.add_argument("--rates", type=float, nargs="+", required=True)
    parser.add_argument("--most", type=int, default=40)
    given = parser.parse_args()
    x, y = load_svmlight_file(given.data, dtype=np.float32)
    # It refuses the 64-bit indices that its own reader makes.
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
    runs = [run(x, y, rate, given.target, given.most) for rate in given.rates]
    reached = [each for each in runs if each["loss"] <= given.target]
    print(json.dumps(min(reached, key=lambda each: each["seconds"])
                     if reached else min(runs, key=lambda each: each["loss"])))


if __name__ == "__main__":
    main()
