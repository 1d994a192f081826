"""Whether a new model is better than the old one, with a stated probability.

    print(weft.gate.size("n > 0.9 +/- 0.06", reliability=0.95)["labelled"])
    gate = weft.gate.Gate("gate.toml")
    gate.init(old="first.weft")
    assert gate.submit("second.weft") == "passed"

A gate file, its terms and who may read what: docs/gate.md. What is counted is for the
owner alone, who has the key.
"""

import json
import os

from weft import _weft

__all__ = ["Gate", "size"]


def size(
    condition,
    *,
    reliability=0.999,
    mode="fp-free",
    adaptivity="full",
    steps=32,
    difference=0.0,
    difference_known=False,
):
    """How many labels a gate takes, before anything is labelled, as
    `weft gate size --json` tells it: "labelled", "points", the "clauses" with the
    bound that takes fewest, and what others would take."""
    return json.loads(
        _weft.gate_size(
            condition,
            reliability,
            mode,
            adaptivity,
            steps,
            difference,
            difference_known,
        )
    )


class Gate:
    """The gate of a gate file. Paths of models are of trained models, or of tables of
    predictions."""

    def __init__(self, path):
        self.path = os.fspath(path)

    def init(self, old="", *, replace=False):
        """Draws a test set at random of points that no verdict has rested on. `old` is
        what the first model is compared with."""
        _weft.gate_init(self.path, os.fspath(old), replace)

    def submit(self, model, *, patience=600.0):
        """ "passed", "failed", "waits for labels", or "recorded" where the verdict goes
        to somebody else. Each model uses the set once; the same one again is told what
        it was told. `patience` is in seconds, for others that are judged."""
        return _weft.gate_submit(self.path, os.fspath(model), patience)

    def labels(self):
        """Goes on with the model that waits for labels, and answers as submit(); None
        if none does."""
        return _weft.gate_labels(self.path)

    def status(self):
        """What developers may know: "uses_left", "alarm", "submissions" with their
        verdicts. None before init()."""
        said = _weft.gate_status(self.path)
        return None if said is None else json.loads(said)

    def details(self):
        """All that was counted for each verdict. Takes the key."""
        return [json.loads(line) for line in _weft.gate_details(self.path)]

    def release(self):
        """The test set that is used up, as CSV with the labels that are known: for
        developers, from now on."""
        return _weft.gate_release(self.path)
