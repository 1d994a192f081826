"""What training on damaged data costs, where a schema would have found the damage:
the mistakes of the paper's introduction, in the training part of Adult."""

import csv
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from lib.bench import Bar, Bench, Setting
from lib.suite import answer, marked

LOSS = Bar("validation: accuracy lost on damaged data that the schema finds, "
           "the worst of five", "points", None)
EPOCHS = 2

Row = dict[str, str]


def pinned(row: Row) -> None:
    """A feature has its default, whatever the person."""
    row["education"], row["education-num"] = "HS-grad", "9"


def other_unit(row: Row) -> None:
    """Minutes a week in place of hours."""
    row["hours-per-week"] = str(int(row["hours-per-week"]) * 60)


def renamed(row: Row) -> None:
    """A category is written in another way."""
    row["marital-status"] = row["marital-status"].lower()


def lost(row: Row) -> None:
    """A join found nothing."""
    for name in ("relationship", "occupation", "capital-gain"):
        row[name] = "?"


def flipped(row: Row) -> None:
    """Ones for what is below 50,000."""
    row["Y"] = ">50K" if row["Y"] == "<=50K" else "<=50K"


# What is damaged, and in what share of the rows: as many as a reader takes; labels
# in fewer, as a model of mostly wrong ones is told by any test.
DAMAGES: tuple[tuple[Callable[[Row], None], float], ...] = (
    (pinned, 1), (other_unit, 1), (renamed, 1), (lost, 0.9), (flipped, 0.4))
# What the owner knows beside what is inferred: the hours of a week, and that
# shares of degrees and of the label hardly move from one batch to the next.
REVIEW = {"hours-per-week": "max = 168\n",
          "education": "drift = { l_infinity = 0.05 }\n",
          "Y": "drift = { l_infinity = 0.05 }\n"}


def benches(where: Setting) -> list[Bench]:
    return [Bench((LOSS,), partial(measure, where))]


def accuracy(where: Setting, data: Path, folder: Path) -> float:
    said = answer([where.build / "bin" / "weft", "train",
                   where.root / "recipes/adult.toml", "--data", data,
                   "--out", folder / "run", "--json", "--set",
                   f"train.epochs={1 if where.quick else EPOCHS}"])
    shutil.rmtree(folder / "run")
    return 100 * said["test_accuracy"]


def measure(where: Setting) -> dict:
    weft = where.build / "bin" / "weft"
    source = where.data_folder("adult")
    with open(source / "adult.data", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, skipinitialspace=True))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(source / "adult.test", folder)
        table = write(rows, folder)
        schema = folder / "schema.toml"
        subprocess.run([weft, "validate", "infer", table, "-o", schema],
                       check=True, stdout=subprocess.DEVNULL)
        clean = folder / "clean.stats"
        subprocess.run([weft, "validate", "stats", table, "-o", clean],
                       check=True, stdout=subprocess.DEVNULL)
        text = schema.read_text()
        for feature, rule in REVIEW.items():
            heading = f"[feature.{feature}]\n"
            text = text.replace(heading, heading + rule)
        schema.write_text(text)
        whole = accuracy(where, folder, folder)
        losses = {}
        for damage, share in DAMAGES:
            table = write(damaged(rows, damage, share), folder)
            done = subprocess.run(
                [weft, "validate", "check", table, "--schema", schema,
                 "--previous", clean, "--json"], capture_output=True, text=True)
            kinds = {each["kind"] for each in json.loads(done.stdout)["anomalies"]}
            if done.returncode != 1:
                raise RuntimeError(f"{damage.__name__} was not found")
            losses[damage.__name__] = (whole - accuracy(where, folder, folder),
                                       ", ".join(sorted(kinds)))
    worst = max(loss for loss, _ in losses.values())
    return {LOSS.name: {"ours": worst, "ratio": worst, "note": marked(
        where, f"{whole:.1f} % on clean data; " + "; ".join(
            f"{name} {loss:.1f} ({kinds})"
            for name, (loss, kinds) in losses.items()))}}


def damaged(rows: list[Row], damage: Callable[[Row], None],
            share: float) -> list[Row]:
    copies = [dict(row) for row in rows]
    for row in copies[:round(share * len(copies))]:
        damage(row)
    return copies


def write(rows: list[Row], folder: Path) -> Path:
    path = folder / "adult.data"
    with open(path, "w", encoding="utf-8", newline="") as out:
        table = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    return path
