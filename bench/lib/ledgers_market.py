"""The market: transactions a core, what encryption costs a training, values of
data beside sampled ones, what they are good for, and cheats."""

import json
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from lib.bench import Bar, Bench, Setting
from lib.picture import chart
from lib.suite import answer, draw, marked

MADE = Bar("the market: transactions made into blocks, one core", "1/s", 10000)
CHECKED = Bar("the market: transactions of others checked, one core", "1/s",
              10000)
CONSERVED = Bar("the market: money conserved and the same root on replay",
                "of 2", 2)
SPEED = Bar("values of 10,000 examples: exact over Monte Carlo", "times",
            1000)
ADDING = Bar("values of 10,000 examples: exact over Monte Carlo that keeps "
             "neighbours", "times", None)
BRUTE = Bar("values of examples: those of all subsets to 1e-12, N <= 8, "
            "K <= 4", "tests that hold", 1)
AGREEMENT = Bar("values of 10,000 examples: ranks of Monte Carlo against "
                "exact", "correlation", None)
LOWEST = Bar("15 % of labels wrong, a fifth of the examples dropped: lowest "
             "values first over none", "points of accuracy", 0)
HIGHEST = Bar("15 % of labels wrong, half of the examples dropped: at random "
              "over highest values first", "points of accuracy", 0)
EARNINGS = Bar("what five curators earn falls with the share of wrong labels",
               "steps of 4", 4)
CHEATS = Bar("cheats of workers that are caught and slashed", "of those tried",
             12)
ATTEST = Bar("attestation of a job, without reading the program's file", "ms",
             5, at_most=True)
TRAININGS = {
    "an MLP on Adult": ("adult.toml", "adult", 1.05),
    "a convolutional network on Fashion-MNIST": (None, "fashion-mnist", 1.05),
}
CNN = """
[model]
name = "mnist-cnn"
[data]
name = "fashion-mnist"
[optimizer]
name = "momentum"
lr = 0.05
momentum = 0.9
[train]
epochs = 1
batch = 128
"""


def benches(where: Setting) -> list[Bench]:
    found = [Bench((MADE, CHECKED, CONSERVED), partial(transactions, where)),
             Bench((SPEED, ADDING, AGREEMENT), partial(shapley, where)),
             Bench((LOWEST, HIGHEST, EARNINGS), partial(values, where)),
             Bench((BRUTE, CHEATS), partial(tests, where))]
    for number, (name, (recipe, data, most)) in enumerate(TRAININGS.items()):
        bars = (Bar(f"{name} from encrypted, attested shards over plain files",
                    "times the seconds", most, at_most=True),)
        if number == 0:
            bars += (ATTEST,)
        found.append(Bench(bars, partial(training, where, bars, recipe, data)))
    return found


def program(where: Setting) -> Path:
    return where.build / "bin" / "weft-market-bench"


def transactions(where: Setting) -> dict:
    said = answer([program(where), "transactions",
                   5000 if where.quick else 50000])
    held = int(said["conserved"]) + int(said["same_root"])
    note = marked(where, f"{said['transactions']:,} transfers of 1,000 "
                  "accounts in blocks of 1,000; a signature alone takes "
                  f"{said['verify_us']:.0f} us")
    return {MADE.name: {"ours": said["made_per_s"],
                        "ratio": said["made_per_s"], "note": note},
            CHECKED.name: {"ours": said["checked_per_s"],
                           "ratio": said["checked_per_s"], "note": note},
            CONSERVED.name: {"ours": held, "ratio": held}}


def shapley(where: Setting) -> dict:
    said = answer([program(where), "shapley", "fashion-mnist",
                   where.data_folder("fashion-mnist"), 10000])
    count = said["permutations"]
    note = (f"Fashion-MNIST, 100 test points; a permutation asks for 10,000 "
            f"utilities and takes {said['permutation_s']:.3g} s, by 20 of "
            f"them, with distances computed before; {count} permutations reach "
            f"a rank correlation of {said['rank_correlation']:.2f}")
    return {SPEED.name: {"ours": said["exact_s"], "peer": said["asking_s"],
                         "peer_name": "Monte Carlo",
                         "ratio": said["asking_s"] / said["exact_s"],
                         "note": note},
            ADDING.name: {"ours": said["exact_s"], "peer": said["adding_s"],
                          "peer_name": "Monte Carlo",
                          "ratio": said["adding_s"] / said["exact_s"],
                          "note": "it adds one point after another, which no "
                          "other model can"},
            AGREEMENT.name: {"ours": said["rank_correlation"],
                             "ratio": said["rank_correlation"],
                             "note": f"{count} permutations"}}


def values(where: Setting) -> dict:
    said = answer([program(where), "values", "fashion-mnist",
                   where.data_folder("fashion-mnist"),
                   1000 if where.quick else 3000])
    lines = {"lowest values first": said["lowest_first"],
             "at random": said["at_random"],
             "highest values first": said["highest_first"]}
    draw(where, "market-removal", chart(
        "Fashion-MNIST, 15 % of labels wrong", "share of examples dropped",
        "accuracy by ten neighbours", lines, y_from_zero=False))
    draw(where, "market-earnings", chart(
        "What a curator earns", "share of wrong labels", "value of the shard",
        {"five equal shards": said["earnings"]}))
    at_half = {name: line[-1][1] for name, line in lines.items()}
    low = lines["lowest values first"]
    cleaned = next(value for share, value in low if share >= 0.2 - 1e-9)
    earned = [value for _, value in said["earnings"]]
    falls = sum(a > b for a, b in zip(earned, earned[1:]))
    note = marked(where, "accuracy at half: " + ", ".join(
        f"{name} {100 * value:.1f} %" for name, value in at_half.items()))
    harm = 100 * (at_half["at random"] - at_half["highest values first"])
    gain = 100 * (cleaned - low[0][1])
    return {LOWEST.name: {"ours": gain, "ratio": gain, "note": note},
            HIGHEST.name: {"ours": harm, "ratio": harm, "note": note},
            EARNINGS.name: {"ours": falls, "ratio": falls,
                            "note": ", ".join(f"{100 * rate:.0f} %: {value:.3f}"
                                              for rate, value
                                              in said["earnings"])}}


def tests(where: Setting) -> dict:
    """What tests hold us to is counted from their own report."""
    def passed(pattern: str) -> int:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            subprocess.run([where.build / "bin" / "weft_market_tests",
                            f"--gtest_filter={pattern}",
                            f"--gtest_output=json:{report}"],
                           check=True, stdout=subprocess.DEVNULL)
            said = json.loads(report.read_text())
        return said["tests"] - said["failures"]

    caught = passed("*/Cheats.*:Jobs.Catch*:Jobs.LetAThird*")
    exact = passed("KnnShapleyTest.IsWhatTheDefinitionSays")
    return {BRUTE.name: {"ours": exact, "ratio": exact,
                         "note": "with equal distances among them"},
            CHEATS.name: {"ours": caught, "ratio": caught,
                          "note": "skipped epochs, altered and swapped "
                          "outputs, replayed, cut and inflated reports, wrong "
                          "measurements, inputs, keys and stale nonces"}}


def training(where: Setting, bars: tuple[Bar, ...], recipe: str | None,
             data: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        path = where.root / "recipes" / recipe if recipe else (
            Path(folder) / "cnn.toml")
        if not recipe:
            path.write_text(CNN)
        said = answer([program(where), "training", path,
                       where.data_folder(data), Path(folder) / "scratch",
                       1 if where.quick else 5])
    result = {bars[0].name: {
        "ours": said["sealed_s"], "peer": said["plain_s"],
        "peer_name": "plain files", "ratio": said["ratio"],
        "low": said["low"], "high": said["high"],
        "note": marked(where, f"{said['examples']:,} examples in five shards; "
                       "opening and decrypting included")}}
    if ATTEST in bars:
        result[ATTEST.name] = {
            "ours": said["attest_ms"], "ratio": said["attest_ms"],
            "note": f"reading and digesting the program takes "
            f"{said['measure_ms']:.0f} ms more"}
    return result
