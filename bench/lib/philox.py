"""Philox4x32-10 in numpy, equal to weft/base/philox.h word for word."""

import numpy as np

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85


def philox4x32(counter: list[np.ndarray | int], key: int) -> list[np.ndarray]:
    """The ten-round bijection, on arrays of 128-bit counters at once."""
    c0, c1, c2, c3 = np.broadcast_arrays(
        *(np.asarray(word, dtype=np.uint64) for word in counter))
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = _M0 * c0, _M1 * c2  # below 2^64: both factors are 32 bits
        c0, c1, c2, c3 = ((p1 >> _HALF) ^ c1 ^ np.uint64(k0), p1 & _LOW,
                          (p0 >> _HALF) ^ c3 ^ np.uint64(k1), p0 & _LOW)
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return [c0, c1, c2, c3]


def words(count: int, *, seed: int, stream: int, step: int = 0) -> np.ndarray:
    """Words 0 … count-1 of RandomStream{seed, stream, step}, as uint32."""
    number = np.arange((count + 3) // 4, dtype=np.uint64)
    block = philox4x32([number & _LOW, number >> _HALF, stream, step], seed)
    return np.stack(block, axis=1).ravel()[:count].astype(np.uint32)


def uniform(count: int, *, seed: int, stream: int, step: int = 0) -> np.ndarray:
    """f32 in [0, 1): multiples of 2^-24, so the same bits everywhere."""
    drawn = words(count, seed=seed, stream=stream, step=step)
    return (drawn >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
