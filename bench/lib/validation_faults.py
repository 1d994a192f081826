"""Real tables with faults of every rule-based class, and the schemas that a person
has reviewed once."""

import csv
import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Rows = list[dict[str, object]]
FAULT_SEED = 20190331
SHARES = (0.001, 0.01, 0.1)


@dataclass(frozen=True)
class Table:
    """`strict` has a list of values that is complete, `number` is an integer and
    `real` a number, all of them in every row."""
    name: str
    file: str
    strict: str
    number: str
    real: str
    flag: str
    # What the reviewer adds to the inferred rules, and why.
    review: dict[str, list[str]]


ADULT = Table(
    "adult", "adult.data", "education", "age", "share", "is_rich",
    {"age": ["min = 0", "max = 120"],  # of people
     "hours-per-week": ["min = 0", "max = 168"],
     "education": ["max_distinct = 16"],  # the sixteen of the census
     # Lists with a long tail: a new name is no fault by itself.
     "native-country": ["min_domain_mass = 0.99"],
     "workclass": ["min_domain_mass = 0.99"],
     "occupation": ["min_domain_mass = 0.99"],
     "marital-status": ["min_domain_mass = 0.99"]})
TAXI = Table(
    "chicago-taxi", "data.csv", "part_of_day", "trip_start_hour", "share",
    "is_card",
    {"trip_start_hour": ["min = 0", "max = 23"],
     "part_of_day": ["max_distinct = 4"],
     "payment_type": ["min_domain_mass = 0.99"],
     "company": ["min_domain_mass = 0.99"],
     # Places that a meter knows for most trips, and not for all.
     **{f"{end}_{what}": ["min_fraction = 0.5"]
        for end in ("pickup", "dropoff")
        for what in ("community_area", "latitude", "longitude")},
     "trip_seconds": ["min_fraction = 0.9"],
     "pickup_census_tract": ["min_count = 0"],
     "dropoff_census_tract": ["min_fraction = 0.5"]})
# What the reviewer knows of the features that both tables are given.
SHARED_REVIEW = {
    "share": ["min = 0", "max = 1", "disallow_nan = true",
              "disallow_inf = true"],
    "pair": ["value_count = { min = 1, max = 2 }"],
    "words": ["domain = \"text\""],
    "code": ["domain = \"integer\""]}


def read_rows(table: Table, folder: Path) -> Rows:
    """The rows as they are, with a few features that tables lack: a flag, a
    number between 0 and 1, lists, texts and integers as texts."""
    with open(folder / table.file, encoding="utf-8") as lines:
        found = list(csv.DictReader(lines, skipinitialspace=True))
    rows: Rows = []
    chance = random.Random(FAULT_SEED)
    for i, row in enumerate(found):
        typed = {name: number(value) for name, value in row.items()
                 if value not in ("", "?", None)}
        if table is TAXI:
            typed["part_of_day"] = ("night", "morning", "noon", "evening")[
                int(typed["trip_start_hour"]) // 6]
        typed |= {"share": round(chance.random(), 6) + 1e-7,
                  "point": [i % 7, i % 11], "pair": [1] * (1 + i % 2),
                  "words": f"row {i}", "code": str(i % 1000),
                  table.flag: i % 2}
        rows.append(typed)
    chance.shuffle(rows)
    return rows


def number(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


# --- Faults: each changes the rows that are struck ---

Fault = Callable[[Table, dict], None]


def set_to(feature: Callable[[Table], str], value: object) -> Fault:
    def strike(table: Table, row: dict) -> None:
        row[feature(table)] = value
    return strike


def drop(feature: Callable[[Table], str]) -> Fault:
    return lambda table, row: row.pop(feature(table), None)


FAULTS: dict[str, Fault] = {
    "new_column": set_to(lambda t: "never seen", 1),
    "low_fraction": drop(lambda t: t.strict),
    "low_count": drop(lambda t: t.number),
    "few_values": set_to(lambda t: "pair", []),
    "many_values": set_to(lambda t: "pair", [1, 1, 1]),
    "shape": set_to(lambda t: "point", [1]),
    "wrong_type": set_to(lambda t: t.number, "thirty"),
    "unexpected_values": set_to(lambda t: t.strict, "Hogwarts"),
    "many_distinct": set_to(lambda t: t.strict, "Hogwarts"),
    "not_bool": set_to(lambda t: t.flag, 2),
    "below_min": set_to(lambda t: t.number, -1),
    "above_max": set_to(lambda t: t.number, 9999),
    "not_a_number": set_to(lambda t: "code", "12a"),
    # A NaN in single precision where it was a number: as tables write it.
    "nan": set_to(lambda t: "share", float("nan")),
    "infinite": set_to(lambda t: "share", float("inf")),
    "invalid_utf8": set_to(lambda t: "words", "caf\udce9"),
}
# What a table writes and JSON cannot.
IN_TABLES = {"nan", "infinite", "invalid_utf8"}


def whole(change: Callable[[Table, dict], None]) -> Callable:
    """Faults of the batch as a whole, which have no share."""
    def strike(table: Table, rows: Rows) -> Rows:
        for row in rows:
            change(table, row)
        return rows
    return strike


WHOLE_FAULTS: dict[str, Callable[[Table, Rows], Rows]] = {
    "missing_column": whole(drop(lambda t: t.number)),
    "nesting_depth": whole(set_to(lambda t: "pair", [[1], [1]])),
    "few_distinct": whole(set_to(lambda t: t.strict, "Masters")),
    "few_rows": lambda table, rows: rows[:50],
    "many_rows": lambda table, rows: rows * 4,
}


def struck(table: Table, rows: Rows, kind: str, share: float) -> Rows:
    """The rows, `share` of them with the fault, at least one."""
    chance = random.Random(f"{FAULT_SEED} {kind} {share}")
    hit = set(chance.sample(range(len(rows)), max(1, round(share * len(rows)))))
    copies = [dict(row) for row in rows]
    for i in hit:
        FAULTS[kind](table, copies[i])
    return copies


def write(rows: Rows, path: Path) -> Path:
    """An object a line, or, by its ending, the table of what has one value."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    names = [name for name in dict.fromkeys(n for row in rows for n in row)
             if not isinstance(rows[0].get(name), list)]
    text = io.StringIO()
    table = csv.DictWriter(text, names, extrasaction="ignore",
                           lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    path.write_bytes(text.getvalue().encode("utf-8", "surrogateescape"))
    return path


def reviewed(schema: str, table: Table, rows: int, is_table: bool) -> str:
    """The inferred schema as its owner leaves it after one look."""
    rules = dict(table.review)
    for feature, lines in SHARED_REVIEW.items():
        if not (is_table and feature in ("pair", "code")):
            rules[feature] = rules.get(feature, []) + lines
    rules[table.number] = rules.get(table.number, []) + [f"min_count = {rows}"]
    rules[table.strict] = rules.get(table.strict, []) + ["min_distinct = 2"]
    found = []
    for block in schema.split("\n\n"):
        lines = block.splitlines()
        name = lines[0].removeprefix("[feature.").strip("]\"")
        for rule in rules.get(name, []):
            key = rule.split(" = ")[0]
            if key == "min_fraction" and table is TAXI:
                lines = [line for line in lines
                         if not line.startswith("shape")]
            lines = [line for line in lines
                     if not line.startswith(key + " = ")]
            lines.append(rule)
        found.append("\n".join(lines))
        rules.pop(name, None)
    # Columns that the first day has not, and that are known to exist.
    found += [f"[feature.{name}]\n" + "\n".join(lines)
              for name, lines in rules.items()]
    return ("\n\n".join(found) +
            f"\n\n[dataset]\nmin_rows = {rows // 2}\nmax_rows = {rows * 2}\n")
