"""The gamma function's logarithm and what follows from it."""

import math

from weft import ops
from weft._weft import tensor
from weft.functions._arguments import real
from weft.functions.elementwise import isinf, isneginf, isposinf

__all__ = "digamma lgamma".split()

# Those of Lanczos's series for the gamma function, "A Precision Approximation of the
# Gamma Function" (1964), with g = 7 (Press et al., "Numerical Recipes", 6.1).
_LANCZOS = (
    0.99999999999980993227684700473478,
    676.520368121885098567009190444019,
    -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,
    -176.61502916214059906584551354,
    12.507343278686904814458936853,
    -0.13857109526572011689554707,
    9.984369578019570859563e-6,
    1.50563273514931155834e-7,
)


def _lanczos(x):
    # For x from 0.5 on: x - 1, the series there, its derivative, log(x + 6.5), and the
    # sum that this is the logarithm of.
    z = x - 1.0
    series, slope = _LANCZOS[0], 0.0
    for n, weight in enumerate(_LANCZOS[1:]):
        term = weight / (z + (n + 1.0))
        series = series + term
        slope = slope - term / (z + (n + 1.0))
    top = z + 7.5
    return z, series, slope, math.log(7.5) + ops.log1p(z / 7.5), top


def _reflected(x):
    # What stands for x, whose gamma function is known from 0.5 on, and whether it does.
    is_low = x < 0.5
    return ops.where(is_low, 1.0 - x, x), is_low


def _to_whole(x):
    # The distance to the nearest integer, by which sin(pi x) keeps all its digits.
    return x - ops.round(x)


def lgamma(x):
    """The logarithm of the gamma function's absolute value; infinity at its poles."""
    x = real(x)
    mirrored, is_low = _reflected(x)
    z, series, _, log_top, top = _lanczos(mirrored)
    # The difference of two large numbers is taken of their factor instead.
    upper = (z + 0.5 - top / log_top) * log_top
    upper = upper + ops.log(series) + 0.5 * math.log(2 * math.pi)
    is_pole = is_low & ops.equal(_to_whole(x), 0)
    angle = ops.where(is_low & ~is_pole, _to_whole(x), tensor(0.5, dtype=x.dtype))
    lower = math.log(math.pi) - ops.log(ops.abs(ops.sin(angle * math.pi))) - upper
    infinity = tensor(math.inf, dtype=x.dtype)
    value = ops.where(is_low, ops.where(is_pole, infinity, lower), upper)
    return ops.where(isinf(x), infinity, value)


def digamma(x):
    """The derivative of the gamma function's logarithm; NaN at its poles."""
    x = real(x)
    mirrored, is_low = _reflected(x)
    z, series, slope, log_top, top = _lanczos(mirrored)
    upper = log_top + slope / series - 7.0 / top
    nan = tensor(math.nan, dtype=x.dtype)
    is_pole = is_low & ops.equal(_to_whole(x), 0)
    angle = ops.where(is_low & ~is_pole, _to_whole(x), tensor(0.25, dtype=x.dtype))
    lower = upper - math.pi / ops.tan(angle * math.pi)
    value = ops.where(is_low, ops.where(is_pole, nan, lower), upper)
    return ops.where(isposinf(x), x, ops.where(isneginf(x), nan, value))
