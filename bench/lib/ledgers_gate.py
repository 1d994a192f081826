"""The gate: sizes of test sets, promises that are kept in simulated histories, and
what an adaptive attacker gains."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from lib.bench import Bar, Bench, Setting
from lib.picture import chart
from lib.suite import answer, draw, marked

SMALL = "d < 0.08 +/- 0.01 /\\ n - o > 0.02 +/- 0.01"
# For a reliability and a tolerance: a clause of n or d, and of n - o, each where
# developers see nothing and where they see all (Renggli et al., 2019).
GOLDEN = {(0.99, 0.1): (404, 1340, 1753, 5496),
          (0.99, 0.05): (1615, 5358, 7012, 21984),
          (0.999, 0.05): (2075, 5818, 8854, 23826),
          (0.9999, 0.025): (10141, 25113, 42782, 102670),
          (0.9999, 0.01): (63381, 156956, 267385, 641684)}
RELIABILITY = 0.95
# On the edge of conditions, where a verdict is wrong most easily; the first one is
# sized by exact probabilities, so that nearly as many are wrong as may be.
EDGES = (("n > 0.5 +/- 0.05", ("--new", 0.5, "--old", 0.5)),
         ("n - o > 0.02 +/- 0.02 /\\ d < 0.1 +/- 0.02",
          ("--new", 0.82, "--old", 0.8, "--different", 0.09)))
ATTACKED = "n > 0.4 +/- 0.1"
LIVES = (1, 2, 4, 8, 16, 32, 64, 128)


def gate(where: Setting, *arguments: object) -> dict:
    return answer([where.build / "bin/weft", "gate", *arguments, "--json"])


def size(where: Setting, condition: str, *more: object) -> dict:
    return gate(where, "size", "--condition", condition, *more)


def by(bound: str, said: dict) -> int:
    """What a bound of the paper takes, whichever takes fewest."""
    return next(clause["bounds"][bound] for clause in said["clauses"]
                if bound in clause["bounds"])


def golden(where: Setting) -> Bench:
    bar = Bar("gate: sizes that are the paper's, to the point", "of 25", 25)

    def measure() -> dict:
        wrong = []

        def hold(found: int, expected: int, what: str) -> None:
            if found != expected:
                wrong.append(f"{what}: {found}, not {expected}")

        for (reliability, tolerance), sizes in GOLDEN.items():
            cases = [(sums, level) for sums in ("n", "n - o")
                     for level in ("none", "full")]
            for (sums, level), expected in zip(cases, sizes):
                condition = f"{sums} > 0.02 +/- {tolerance}"
                found = size(where, condition, "--reliability", reliability,
                             "--adaptivity", level)
                hold(found["baseline"], expected, condition)
        most = ("--reliability", 0.9999, "--adaptivity")
        small = "small-difference"
        hold(by(small, size(where, SMALL, *most, "none")), 29048, "29K")
        hold(by(small, size(where, SMALL, *most, "full")), 67706, "67K")
        once = size(where, SMALL, *most, "none", "--steps", 1)
        hold(round(by(small, once) / 10), 2189, "labels a commit")
        known = ("--reliability", 0.998, "--steps", 7, "--difference", 0.1,
                 "--difference-known", "--adaptivity")
        implicit = "implicit-difference"
        hold(by(implicit, size(where, "n - o > 0.02 +/- 0.02", *known, "none")),
             4713, "emotions")
        hold(by(implicit,
                size(where, "n - o > 0.018 +/- 0.022", *known, "full")),
             5204, "emotions, full")
        held = 25 - len(wrong)
        return {bar.name: {"ours": held, "ratio": held,
                           "note": "; ".join(wrong)}}

    return Bench((bar,), measure)


def savings(where: Setting) -> Bench:
    variance = Bar("gate: labels by Hoeffding over those where few points "
                   "differ", "labels", 9)
    active = Bar("gate: labels by Hoeffding over those of a commit", "labels",
                 100)

    def measure() -> dict:
        terms = ("--reliability", 0.9999, "--adaptivity", "none")
        plain = size(where, "n - o > 0.02 +/- 0.01", *terms)["labelled"]
        many = size(where, SMALL, *terms)
        small = many["labelled"]
        commit = size(where, SMALL, *terms, "--steps", 1)["labels_a_commit"]
        return {variance.name: {"ours": small, "peer": plain,
                                "peer_name": "Hoeffding",
                                "ratio": plain / small},
                active.name: {"ours": commit, "peer": plain,
                              "peer_name": "Hoeffding",
                              "ratio": plain / commit,
                              "note": "for a test set of one commit; the first "
                              "row's 32 commits ask for at most "
                              f"{many['labels_a_commit']:,} each"}}

    return Bench((variance, active), measure)


def promises(where: Setting) -> Bench:
    bars = {(mode, level): Bar(
        f"gate: wrong verdicts over those allowed, {mode}, {level}", "share",
        1, at_most=True)
        for mode in ("fp-free", "fn-free")
        for level in ("none", "first-change", "full")}
    histories = 5_000 if where.quick else 100_000

    def measure() -> dict:
        found = {}
        for (mode, level), bar in bars.items():
            said = [gate(where, "simulate", "--condition", condition, *truth,
                         "--reliability", RELIABILITY, "--mode", mode,
                         "--adaptivity", level, "--histories", histories)
                    for condition, truth in EDGES]
            wrong = max(each["wrong"] for each in said)
            found[bar.name] = {
                "ours": wrong, "ratio": wrong / said[0]["allowed"],
                "note": marked(where, f"{histories:,} histories of up to 32 "
                               "verdicts, of two conditions each")}
        return found

    return Bench(tuple(bars.values()), measure)


def attacker(where: Setting) -> Bench:
    ours = Bar("gate: false passes of an attacker over those allowed", "share",
               1, at_most=True)
    naive = Bar("gate: the same on a test set that is reused without care",
                "share", None)
    histories = 2_000 if where.quick else 100_000

    def attack(steps: int, *more: object, lives: int) -> dict:
        return gate(where, "simulate", "--condition", ATTACKED, "--attack",
                    "--reliability", RELIABILITY, "--steps", steps,
                    "--histories", lives, *more)

    def measure() -> dict:
        points = size(where, ATTACKED, "--reliability", RELIABILITY, "--steps",
                      1)["points"]
        sized = attack(32, lives=histories)
        reused = attack(32, "--points", points, lives=histories)
        few = min(histories, 5_000)
        lines = {"sized for what is seen": [], "reused without care": []}
        for steps in LIVES:
            for line, more in zip(lines.values(), ((), ("--points", points))):
                line.append((steps, attack(steps, *more, lives=few)["wrong"]))
        lines["allowed"] = [(steps, 1 - RELIABILITY) for steps in LIVES]
        draw(where, "gate-attacker", chart(
            "An attacker's false passes", "verdicts on one test set",
            "share of histories", lines, log_x=True))
        allowed = 1 - RELIABILITY
        return {
            ours.name: {"ours": sized["wrong"],
                        "ratio": sized["wrong"] / allowed,
                        "note": marked(where, f"{histories:,} attacks of 32 "
                                       f"verdicts, {sized['points']} points")},
            naive.name: {"ours": reused["wrong"],
                         "ratio": reused["wrong"] / allowed,
                         "note": marked(where, f"{points} points, as for one "
                                        "verdict")}}

    return Bench((ours, naive), measure)


# Commits of a network for Fashion-MNIST, each a small change of the one before.
FIRST = {"model.hidden": "[64]", "train.epochs": 1, "optimizer.lr": 0.005}
COMMITS = ({"optimizer.lr": 0.02}, {"train.epochs": 2}, {"optimizer.lr": 0.05},
           {"train.epochs": 3}, {"model.hidden": "[128]"},
           {"optimizer.weight_decay": 1e-4}, {"train.seed": 2})
RECIPE = """[model]
name = "mlp"
[data]
name = "fashion-mnist"
folder = "{folder}"
[optimizer]
name = "momentum"
lr = 0.02
[train]
batch = 64
"""
# As the paper's three at its history of eight commits, for models that differ on
# twice as many points.
DIFFERENCE = 0.2
GATES = {"none, fp-free": ("n - o > 0.02 +/- 0.02", "none", "fp-free"),
         "none, fn-free": ("n - o > 0.02 +/- 0.02", "none", "fn-free"),
         "full, fp-free": ("n - o > 0.015 +/- 0.025", "full", "fp-free")}


def weft(where: Setting, *arguments: object, key: str = "",
         may_fail: bool = False) -> str:
    done = subprocess.run(
        [str(word) for word in (where.build / "bin/weft", *arguments)],
        capture_output=True, text=True,
        env={**os.environ, **({"WEFT_GATE_KEY": key} if key else {})})
    if done.returncode > may_fail:
        raise RuntimeError(done.stderr.strip()[-500:])
    return done.stdout


def train_history(where: Setting, folder: Path) -> list[Path]:
    """The models of all commits, the first one included."""
    recipe = folder / "fashion.toml"
    recipe.write_text(RECIPE.format(folder=where.data_folder("fashion-mnist")))
    models, said = [], dict(FIRST)
    for number, change in enumerate(({}, *COMMITS)):
        said.update(change)
        model = folder / f"commit{number}"
        weft(where, "train", recipe, "--out", model, "--json",
             *(word for name, value in said.items()
               for word in ("--set", f"{name}={value}")))
        models.append(model)
    return models


def judged(where: Setting, folder: Path, models: list[Path], condition: str,
           level: str, mode: str) -> list[dict]:
    """What the owner reads of each commit."""
    gate_file = folder / f"{mode}-{level}.toml"
    gate_file.write_text(
        f"[gate]\ncondition = '{condition}'\nreliability = 0.998\n"
        f"mode = '{mode}'\nadaptivity = '{level}'\nsteps = 7\n"
        f"difference = {DIFFERENCE}\ndifference_known = true\n"
        "recipe = 'fashion.toml'\nresults = 'results.jsonl'\n")
    key = os.urandom(32).hex()
    weft(where, "gate", "init", gate_file, "--old", models[0], key=key)
    for model in models[1:]:
        weft(where, "gate", "submit", gate_file, model, key=key, may_fail=True)
    said = weft(where, "gate", "status", gate_file, "--details", key=key)
    return [json.loads(line) for line in said.splitlines()]


def history(where: Setting) -> Bench:
    bars = {name: Bar(f"gate: labels of a commit of Fashion-MNIST over the "
                      f"points judged, {name}", "share", DIFFERENCE, at_most=True)
            for name in GATES}

    def measure() -> dict:
        folder = where.build / "bench" / "gate"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        models = train_history(where, folder)
        found = {}
        for name, (condition, level, mode) in GATES.items():
            said = judged(where, folder, models, condition, level, mode)
            points = max(each["clauses"][0]["points"] for each in said)
            labels = sum(each["labels"] for each in said) / len(said)
            passed = [each["submission"] for each in said if each["passed"]]
            found[bars[name].name] = {
                "ours": labels, "peer": points, "peer_name": "points",
                "ratio": labels / points,
                "note": f"commits that passed: {passed or 'none'}; "
                "differences of each: "
                + ", ".join(str(each["differences"]) for each in said)}
        return found

    return Bench(tuple(bars.values()), measure)


def benches(where: Setting) -> list[Bench]:
    return [golden(where), savings(where), promises(where), attacker(where),
            history(where)]
