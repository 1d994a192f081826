"""Every op of the registry, as a function made from its entry.

Operands come by position, attributes by keyword. weft.functions has NumPy's
names; where an op means what NumPy's function means, they are the same.
"""

from weft import _weft


def _parameters(entry):
    """The operands and attributes as Python would write them."""
    operands = list(entry["inputs"])
    if entry["is_variadic"]:
        operands[-1] = "*" + operands[-1]
    else:
        for index in range(entry["min_inputs"], len(operands)):
            operands[index] += "=None"
        if operands:
            operands.append("/")
    attributes = [
        name if is_required else f"{name}={default!r}"
        for name, _, is_required, default in entry["attributes"]
    ]
    if attributes and not entry["is_variadic"]:
        attributes.insert(0, "*")
    return ", ".join(operands + attributes)


def _documentation(entry):
    # The first lines are where Python looks for a builtin's signature.
    lines = [
        f"{entry['name']}({_parameters(entry)})",
        "--",
        "",
        f"{entry['summary']}",
        "",
        f"    {entry['signature']}",
    ]
    for name, kind, is_required, default in entry["attributes"]:
        end = "required" if is_required else f"{default!r} by default"
        lines.append(f"    {name}: {kind}, {end}")
    return "\n".join(lines)


__all__ = []
for _entry in _weft.registry():
    globals()[_entry["name"]] = _weft.operator(
        _entry["name"], _documentation(_entry)
    )
    __all__.append(_entry["name"])
del _entry
