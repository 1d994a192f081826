"""The optimizers of the registry, each as a function of its name.

optimizer = weft.optim.adam(model.parameters(trainable_only=True), lr=1e-3)
loss, grads = weft.value_and_grad(loss_of, wrt=model)(x, y)
optimizer.update(grads)

wrap=["accumulate(4)", "lookahead(steps=5)"] puts wrappers around it, the first
one innermost. With wrap=["ema"], optimizer.used() are the averages of the variables.

Private(optimizer, loss, ...) trains with differential privacy.
"""

from weft._weft import optim as _optim
from weft._weft.optim import (
    Optimizer, Private, clip_by_global_norm, schedule, schedules)


def _maker(name, summary, default_lr, options):
    def make(variables, lr=default_lr, *, wrap=(), **given):
        return Optimizer(name, variables, lr=lr, wrap=list(wrap), **given)

    lines = [summary, ""]
    for option, (default, text) in options.items():
        lines.append(f"    {option}: {text}; {default} by default")
    make.__name__ = make.__qualname__ = name
    make.__doc__ = "\n".join(lines)
    return make


__all__ = ["Optimizer", "Private", "clip_by_global_norm", "schedule", "schedules"]
for _entry in _optim.registry():
    globals()[_entry[0]] = _maker(*_entry)
    __all__.append(_entry[0])
