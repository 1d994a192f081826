"""A market for data and computation: what it knows, and what is sent to it.

    anna = weft.market.make_key("anna.key")
    weft.market.send("books.db", "anna.key", "found", name="people", quorum=1, debate=2)
    print(weft.market.balances("books.db"))

`weft market` begins markets, seals shards and runs workers: docs/market.md. Money is
whole numbers; accounts are public keys in hexadecimal digits.
"""

import json
import os

from weft import _weft

__all__ = ["account", "balances", "make_key", "reveal", "send", "show", "verify"]


def make_key(path):
    """Draws a key into a file that only its owner may read; returns the account."""
    return _weft.market_make_key(os.fspath(path))


def account(path):
    """The account of a key file."""
    return _weft.market_account(os.fspath(path))


def show(ledger):
    """All that the market knows, as `weft market show --json` tells it."""
    return json.loads(_weft.market_show(os.fspath(ledger)))


def balances(ledger):
    """Money by account; dividends that nobody has withdrawn are not in it."""
    return {each["account"]: each["balance"] for each in show(ledger)["accounts"]}


def send(ledger, key, what, *, validators=(), **fields):
    """Signs a transaction with a key file and puts it into a block of its own; returns
    what happened, a line each. `weft market transactions` lists them and their fields;
    lists are lists. A transaction that is refused raises, and changes nothing.
    `validators` are key files, where a majority must sign."""
    words = [f"{name}={_word(value)}" for name, value in fields.items()]
    return _weft.market_send(
        os.fspath(ledger),
        os.fspath(key),
        what,
        words,
        [os.fspath(each) for each in validators],
    )


def reveal(ledger, key, job, *, validators=()):
    """Tells the secret of a job with checks, which its payer's key has committed it to:
    that draws the stages that another worker computes again. Returns what happened, a
    line each; raises before the worker has reported, and for anybody else's key."""
    return _weft.market_reveal(
        os.fspath(ledger), os.fspath(key), job, [os.fspath(each) for each in validators]
    )


def verify(ledger):
    """Replays all blocks, each held to its root and signatures; returns what they make
    of the market, as show()."""
    return json.loads(_weft.market_verify(os.fspath(ledger)))


def _word(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(map(_word, value))
    return str(value)
