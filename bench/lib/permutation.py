"""An epoch's order, equal to weft/base/permutation.h element for element."""

import numpy as np

from lib.philox import philox4x32


def permutation(size: int, *, seed: int, stream: int, epoch: int) -> np.ndarray:
    """Where each position of the epoch comes from, as an int64 array.

    Six Feistel rounds over an even number of bits, walked until every value
    lies inside the range.
    """
    half_bits = max(((size - 1).bit_length() + 1) // 2, 1)
    shift, mask = np.uint64(half_bits), np.uint64((1 << half_bits) - 1)

    def encrypt(value: np.ndarray) -> np.ndarray:
        left, right = value >> shift, value & mask
        for round_number in range(6):
            noise = philox4x32([right, round_number, stream, epoch], seed)[0]
            left, right = right, left ^ (noise & mask)
        return (left << shift) | right

    order = encrypt(np.arange(size, dtype=np.uint64))
    while (outside := order >= size).any():
        order[outside] = encrypt(order[outside])
    return order.astype(np.int64)
