"""What narrow weights cost a language model that is served: its perplexity on
text that it has not seen, after two epochs of recipes/ptb-lstm.toml at a rate at
which these get far enough."""

import tempfile
from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.suite import answer

RECIPE = "recipes/ptb-lstm.toml"
WEIGHTS = ("bf16", "i8")


def benches(where: Setting) -> list[Bench]:
    bars = tuple(Bar(f"lstm-lm on Penn Treebank, weights of {weights}: "
                     "perplexity off that of f32", "%", 0.3, at_most=True)
                 for weights in WEIGHTS)
    return [Bench(bars, partial(measure, where, bars))]


def measure(where: Setting, bars: tuple[Bar, ...]) -> dict:
    data = ["--data", where.data_folder("ptb"), "--threads", where.threads,
            "--json"]
    weft = where.build / "bin" / "weft"
    with tempfile.TemporaryDirectory() as folder:
        answer([weft, "train", where.root / RECIPE, *data, "--set",
                "train.epochs=2", "--set", "optimizer.lr=4.0", "--out", folder])

        def perplexity(weights: str) -> float:
            return answer([weft, "eval", folder, *data, "--recurrent-weights",
                           weights])["test_perplexity"]

        exact = perplexity("f32")
        found = {weights: perplexity(weights) for weights in WEIGHTS}
    rows = {}
    for bar, weights in zip(bars, WEIGHTS):
        off = 100 * abs(found[weights] / exact - 1)
        rows[bar.name] = {
            "ours": off, "ratio": off,
            "note": f"{found[weights]:.3f}, and {exact:.3f} of f32"}
    return rows
