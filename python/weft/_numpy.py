"""NumPy, made ready for the extension when it is first needed: importing it takes
longer than all of Weft. Python's lock of this module lets one thread do so."""

import numpy  # noqa: F401

from weft import _weft

_weft._prepare_numpy()
