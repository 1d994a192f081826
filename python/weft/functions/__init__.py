"""Functions under NumPy's names, which mean what NumPy's do, on tensors.

Most are ops as they stand. The others say in NumPy's words (axis, keepdims) what an
op's attributes say, or are expressions of several. Each works where ops do: at once
and staged, within weft.grad and weft.vmap.
"""

from weft.functions import arranging, counting, creation, elementwise, matrices, neural
from weft.functions import order, picking, random, reductions, sets, special
from weft.functions import without_nan

__all__ = []
for _part in (
    arranging,
    counting,
    creation,
    elementwise,
    matrices,
    neural,
    order,
    picking,
    random,
    reductions,
    sets,
    special,
    without_nan,
):
    __all__ += _part.__all__
    globals().update({_name: getattr(_part, _name) for _name in _part.__all__})
