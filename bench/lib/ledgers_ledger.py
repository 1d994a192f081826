"""What a ledger takes a second, and what is left when its writers are killed."""

import tempfile
from functools import partial
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.suite import answer, marked

ROUNDS = {True: 25, False: 625}  # of 16 processes each: quick, and whole


def benches(where: Setting) -> list[Bench]:
    groups = Bar("ledger: records in groups of 5,000", "1/s", 20_000)
    single = Bar("ledger: single durable records", "1/s", 500)
    share = Bar("ledger: single records over the disk's own waits", "x", None)
    replay = Bar("ledger: records that are replayed and verified", "1/s", None)
    kills = Bar("ledger: budgets overdrawn or lost, 16 processes, kill -9",
                "", 0, at_most=True)
    return [Bench((groups, single, share, replay),
                  partial(measure_rates, where, groups, single, share,
                          replay)),
            Bench((kills,), partial(measure_kills, where, kills))]


def measure_rates(where: Setting, groups: Bar, single: Bar, share: Bar,
                  replay: Bar) -> dict:
    """The disk's limit is a page written and waited for, as each commit must."""
    found = []
    for _ in range(where.pairs):
        # Beside the build: temporary folders may be memory.
        with tempfile.TemporaryDirectory(dir=where.build) as folder:
            found.append(answer([where.worker, "ledger", "--folder", folder,
                                 "--threads", 1]))

    def row(values: list[float], **more) -> dict:
        return {"ours": median(values), "ratio": median(values),
                "low": min(values), "high": max(values), **more}

    note = f"{where.pairs} ledgers, SQLite"
    return {
        groups.name: row([each["groups"] for each in found], note=note),
        single.name: row([each["singles"] for each in found], note=note),
        share.name: row([each["singles"] / each["waits"] for each in found],
                        peer=median(each["waits"] for each in found),
                        peer_name="fdatasync of a page", note=note),
        replay.name: row([each["replay"] for each in found], note=note)}


def measure_kills(where: Setting, bar: Bar) -> dict:
    with tempfile.TemporaryDirectory(dir=where.build) as folder:
        found = answer([where.worker, "budget-kills", "--folder", folder,
                        "--rounds", ROUNDS[where.quick], "--threads", 1])
    wrong = found["lost"] + found["overdrawn"]
    return {bar.name: {
        "ours": wrong, "ratio": wrong,
        "note": marked(where, f"{found['processes']:,} processes killed, "
                              f"{found['told']:,} grants told")}}
