"""Loops that are made of weft.while_loop."""

from weft import _weft


def fori_loop(lower, upper, body, carried):
    """Applies body(i, carried) for i = lower, lower + 1, ... below upper, an i64, and
    returns what is carried in the end. The bounds are integers, or tensors of one.
    """
    first, upper = (_weft.tensor(bound).cast("i64") for bound in (lower, upper))

    def step(state):
        i, carried = state
        return i + 1, body(i, carried)

    return _weft.while_loop(lambda state: state[0] < upper, step, (first, carried))[1]
