"""Data: what readers know, and arrays of one's own, in batches.

    parts = weft.data.open("mnist")
    for epoch in range(5):
        for images, labels in parts["train"].batches(128, shuffle=True):
            ...

What trains in these batches may be anything; weft.train.Data is for trainers.
"""

from weft._weft.data import Batches, Dataset, from_arrays, open, readers

__all__ = ["Batches", "Dataset", "from_arrays", "open", "readers"]
