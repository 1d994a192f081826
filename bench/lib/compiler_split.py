"""The search of a large network in parts, against that of the whole."""

from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.compiler_networks import ours

NETWORK, TITLE = "inception-v3", "Inception-v3"


def benches(where: Setting) -> list[Bench]:
    title = f"{TITLE}, batch 1, searched in parts"
    bars = (Bar(f"{title}: graphs that were priced, fewer than of the whole",
                "times", 5.0),
            Bar(f"{title}: cost over that of the whole", "times", 1.02,
                at_most=True))
    return [Bench(bars, partial(measure, where, bars))]


def measure(where: Setting, bars: tuple[Bar, ...]) -> dict:
    found = {}
    for side, more in (("parts", []), ("whole", ["--whole", "1"])):
        with ours(where, NETWORK, 1, more).worker as worker:
            found[side] = worker.ask("report")["relaxed"]
    parts, whole = found["parts"], found["whole"]
    return {
        bars[0].name: {
            "ours": parts["tried"], "peer": whole["tried"],
            "peer_name": "the whole", "ratio": whole["tried"] / parts["tried"],
            "note": f"{parts['parts']} parts"},
        bars[1].name: {
            "ours": parts["after"], "peer": whole["after"],
            "peer_name": "the whole", "ratio": parts["after"] / whole["after"],
            "note": "predicted, as both are"}}
