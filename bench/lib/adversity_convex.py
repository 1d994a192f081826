"""AdaComm's theory on a convex problem: the period for which its bound is least,
and the one with which training comes farthest by a given time, on a virtual
clock."""

import gzip
import math
from statistics import mean

from lib.adversity_adacomm import STEP
from lib.bench import Bar, Bench, Setting
from lib.suite import marked
from lib.training_curve import Trained, train

WORKERS = 4
BATCH = 4  # of each worker
RATE = 0.02
RATIO = 4  # of communicating over computing, of a synchronous step
CLASSES = 10
EPOCHS = 4  # of the synchronous run, whose time all have
PERIODS = (1, 2, 3, 4, 6, 8, 16, 32, 64)


def rows_of_digits(where: Setting) -> tuple[list[list[float]], bytes]:
    """The images with a 1 for the bias, and what they show."""
    folder = where.root / "data/digits"
    images, labels = (
        gzip.decompress((folder / f"digits-{name}-ubyte.gz").read_bytes())
        for name in ("images-idx3", "labels-idx1"))
    pixels, labels = images[16:], labels[8:]
    return [[pixel / 16 for pixel in pixels[i:i + 64]] + [1.0]
            for i in range(0, len(pixels), 64)], labels


def dot(a: list[float], b: list[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b))


def curvature(rows: list[list[float]]) -> float:
    """L: a softmax's second derivative is at most half of that of a square, whose
    greatest eigenvalue is found by power iteration."""
    vector = [1.0] * len(rows[0])
    for _ in range(20):
        products = [dot(row, vector) for row in rows]
        image = [math.fsum(p * row[j] for p, row in zip(products, rows))
                 / len(rows) for j in range(len(vector))]
        greatest = math.hypot(*image)
        vector = [value / greatest for value in image]
    return greatest / 2


def variance(rows: list[list[float]], labels: bytes) -> float:
    """That of the gradient of one example, where all classes are as likely."""
    squares = mean(dot(row, row) for row in rows) * (1 - 1 / CLASSES)
    whole = 0.0
    for label in range(CLASSES):
        signs = [1 / CLASSES - (each == label) for each in labels]
        whole += math.fsum(
            math.fsum(sign * row[j] for sign, row in zip(signs, rows)) ** 2
            for j in range(len(rows[0])))
    return squares - whole / len(rows) ** 2


def loss_at(run: Trained, seconds: float) -> float:
    """The training loss then: an epoch's is that of its middle."""
    points, began = [], 0.0
    for epoch in run.epochs:
        points.append(((began + epoch["seconds"]) / 2, epoch["train_loss"]))
        began = epoch["seconds"]
    for (a, first), (b, second) in zip(points, points[1:]):
        if a <= seconds <= b:
            return first + (seconds - a) / (b - a) * (second - first)
    raise ValueError(f"no loss at {seconds} s")


def convex(where: Setting) -> Bench:
    bar = Bar(f"adacomm's theory, logistic regression of digits, {WORKERS} "
              "workers: the best period beside that of its bound", "times", 1.5,
              at_most=True)
    parameters = 65 * CLASSES
    wire = 2 * (WORKERS - 1) / WORKERS * 4 * parameters
    # What latency takes of an all-reduce's time, bytes cannot.
    latency = 50e-6 * 2 * (WORKERS - 1)
    network = (f"{WORKERS}@50us,"
               f"{wire / (RATIO * STEP - latency):.0f}B/s")

    def run(period: int, epochs: int) -> Trained:
        return train(where, "convex", "digits", "model.name=sequential",
                     'model.layers=["flatten", "linear"]', "optimizer.name=sgd",
                     f"optimizer.lr={RATE}", f"train.batch={WORKERS * BATCH}",
                     "train.drop_last=true", "sync.collective=ring",
                     f"simulate.compute=constant({STEP}s)",
                     f"train.epochs={epochs}",
                     f"sync.policy=local_sgd({period})", simulate=network)

    def measure() -> dict:
        rows, labels = rows_of_digits(where)
        once = run(1, EPOCHS + 1)
        steps = once.summary["steps"] / len(once.epochs)
        time = once.epochs[EPOCHS - 1]["seconds"]
        delay = once.summary["seconds"] / once.summary["steps"] - STEP
        bound = math.sqrt(
            2 * math.log(CLASSES) * delay
            / (RATE ** 3 * curvature(rows) ** 2 * variance(rows, labels) / BATCH
               * time))
        losses = {1: loss_at(once, time)}
        for period in PERIODS[1::2 if where.quick else 1]:
            epochs = math.ceil(time / (STEP + delay / period) / steps) + 1
            losses[period] = loss_at(run(period, epochs), time)
        best = min(losses, key=losses.get)
        return {bar.name: {
            "ours": best, "peer": bound, "peer_name": "of the bound",
            "ratio": max(best / bound, bound / best),
            "note": marked(
                where, f"training loss after {time:.0f} s: " + ", ".join(
                    f"{loss:.4f} by {period}" for period, loss in losses.items())
                + "; what the bound adds for long periods is not there where "
                "workers draw of the same examples and curvature changes little")}}

    return Bench((bar,), measure)


def benches(where: Setting) -> list[Bench]:
    return [convex(where)]
