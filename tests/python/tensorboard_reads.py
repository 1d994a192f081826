"""The tensorboard package reads what a run has told: for ./test --all, which
installs that package. Usage: tensorboard_reads.py WEFT"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import (
    EventAccumulator)
from tensorboard.plugins.hparams import metadata
from xprof.convert import raw_to_tool_data

ROOT = Path(__file__).resolve().parents[2]


def main(weft: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([weft, "train", ROOT / "recipes/digits.toml", "--set",
                        "train.epochs=3", "--set", "tensorboard.folder=board",
                        "--set", "tensorboard.every=10", "--out", folder,
                        "--profile"],
                       check=True, capture_output=True)
        events = EventAccumulator(str(Path(folder) / "board"),
                                  size_guidance={"histograms": 0, "images": 0})
        events.Reload()
        tags = events.Tags()
        losses = [event.value for event in events.Scalars("loss/held out")]
        assert len(losses) == 3 and losses[2] < losses[0], losses
        assert len(events.Scalars("loss/step")) == 13, tags["scalars"]
        weights = events.Histograms("conv1.weight")
        assert len(weights) == 3, tags["histograms"]
        value = weights[-1].histogram_value
        assert sum(value.bucket) == value.num == 3 * 3 * 16, value
        slopes = events.Histograms("gradient/conv1.weight")
        assert len(slopes) == 3, tags["histograms"]
        assert slopes[-1].histogram_value.num == 3 * 3 * 16, slopes
        image = events.Images("batch/0")[0]
        assert (image.height, image.width) == (8, 8), image
        assert image.encoded_image_string.startswith(b"\x89PNG")
        graph = events.Graph()
        operations = {node.op for node in graph.node}
        assert "conv2d" in operations, operations
        names = {node.name for node in graph.node}
        for node in graph.node:
            for source in node.input:
                assert source.split(":")[0] in names, source
        summaries = events.SummaryMetadata("_hparams_/session_start_info")
        start = metadata.parse_session_start_info_plugin_data(
            summaries.plugin_data.content)
        assert start.hparams["train.batch"].number_value == 32, start
        assert start.hparams["model.name"].string_value == "digits-cnn", start
        read_profile(Path(folder))


def read_profile(run: Path) -> None:
    """The profile plugin shows a picture of the run's kernels."""
    (profile,) = (run / "board/plugins/profile").glob("*/*.xplane.pb")
    data, kind = raw_to_tool_data.xspace_to_tool_data(
        [str(profile)], "trace_viewer", {})
    assert kind == "application/json", kind
    names = {event.get("name") for event in json.loads(data)["traceEvents"]}
    assert {"compute", "conv2d"} <= names, names


if __name__ == "__main__":
    main(sys.argv[1])
