"""Privacy budgets of blocks of data, and who may spend them.

    weft.budget.add("books.db", ["2026-10"], epsilon=10, delta=1e-7)
    claim = weft.budget.grant("books.db", "survey", ["2026-*"], "gaussian(noise=4)")
    if claim.is_granted:
        weft.budget.begin("books.db", claim.name)
        ...

docs/private-training.md and docs/privacy.md explain it. What a program claims to do to
the data is believed: weft.train computes its own claim.
"""

import json
import os
from dataclasses import dataclass

from weft import _weft

__all__ = ["Claim", "add", "begin", "grant", "release", "show"]


@dataclass(frozen=True)
class Claim:
    """How a claim stands: "waiting", "granted", "begun", "released" or "refused", and
    why."""

    name: str
    standing: str
    because: str

    @property
    def is_granted(self):
        return self.standing in ("granted", "begun")


def add(
    ledger,
    blocks,
    *,
    epsilon=10.0,
    delta=1e-7,
    scheduler="",
    unlocking="",
    period=None,
):
    """Gives blocks a budget, in a ledger that is made if need be. What is said of
    scheduler, unlocking and period holds for all; the rest stays as it is."""
    _weft.budget_add(
        os.fspath(ledger), list(blocks), epsilon, delta, scheduler, unlocking, period
    )


def show(ledger):
    """Rules, blocks with what they have spent, and claims, as
    `weft budget show --json` tells them."""
    return json.loads(_weft.budget_show(os.fspath(ledger)))


def grant(ledger, claim, blocks, mechanism, *, job="", weight=1.0, wait=0.0):
    """Asks blocks, whose names may be patterns, for what a mechanism gives away; the
    claim is granted in all or in none. Asked for again it is the same claim. `wait` is
    for how many seconds, where budgets are not unlocked yet; then it is refused."""
    said = json.loads(
        _weft.budget_grant(
            os.fspath(ledger), claim, list(blocks), mechanism, job, weight, wait
        )
    )
    return Claim(said["claim"], said["standing"], said["because"])


def begin(ledger, claim):
    """The job reads the data from now on: what it was granted is spent."""
    _weft.budget_begin(os.fspath(ledger), claim)


def release(ledger, claim):
    """Gives back what was granted to a job that has not begun."""
    _weft.budget_release(os.fspath(ledger), claim)
