#!/usr/bin/env python3
"""Training and validation from each format: bit for bit what the same data are as CSV
or as a folder of pictures."""

import io
import json
import os
import random
import struct
import sys
import tarfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from new_test import png  # noqa: E402
from weft import CliTest, ROOT, run  # noqa: E402

PARQUET = ROOT / "tests/data/parquet"
HDF5 = ROOT / "tests/data/hdf5"

RECIPE = """
[model]
name = "{model}"
{options}
[data]
name = "csv"
[optimizer]
name = "adam"
lr = 0.01
[train]
epochs = 2
batch = 16
seed = 1
"""


def tensors_of(path: Path) -> dict[str, bytes]:
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    return {name: data[8 + size + entry["data_offsets"][0]:
                       8 + size + entry["data_offsets"][1]]
            for name, entry in header.items() if name != "__metadata__"}


def safetensors(**tensors: tuple[str, list[int], bytes]) -> bytes:
    header, body = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


class FormatsTest(CliTest):
    def weights(self, data: Path, *settings: str, model: str = "mlp",
                options: str = "hidden = [16]") -> dict[str, bytes]:
        recipe = self.write("recipe.toml",
                            RECIPE.format(model=model, options=options))
        changed = [part for setting in settings for part in ("--set", setting)]
        self.runs = getattr(self, "runs", 0) + 1
        run_folder = self.folder / f"run-{self.runs}"
        self.succeed("train", recipe, "--data", data, "--out", run_folder,
                     "--threads", 1, *changed)
        return tensors_of(run_folder / "last.safetensors")

    def test_parquet_trains_as_csv(self) -> None:
        options = "hidden = [16]\nembedding = 4"
        for label in ("heavy", "price"):
            more = (f"data.label={label}",
                    f"task.name={'binary' if label == 'heavy' else 'regression'}")
            csv = self.weights(PARQUET / "cakes.csv", "data.categories=code",
                               *more, options=options)
            for data in (PARQUET / "cakes.parquet", PARQUET / "parts"):
                self.assertEqual(
                    self.weights(data, "data.name=parquet", *more,
                                 options=options), csv)

    def test_row_groups_stream(self) -> None:
        """In another order of examples, which is the same each time."""
        arguments = ("data.name=parquet", "data.label=heavy", "data.mixed=2",
                     'data.ignore="kind,code"')
        first = self.weights(PARQUET / "cakes.parquet", *arguments)
        self.assertEqual(self.weights(PARQUET / "cakes.parquet", *arguments),
                         first)
        self.assertNotEqual(self.weights(PARQUET / "cakes.parquet",
                                         *arguments[:2], arguments[3]), first)

    def test_lists_in_parquet_are_those_of_json(self) -> None:
        # What tests/data/parquet/make.py has written.
        rows = [{"words": ["a"], "sizes": [1, 2], "flags": []},
                {"sizes": [3], "flags": [True]},
                {"words": [], "flags": [False, True]},
                {"words": ["b", "", "c"], "sizes": []}]
        as_json = self.write("lists.jsonl", "".join(
            json.dumps(row) + "\n" for row in rows * 500))
        found, wanted = (self.json_of("validate", "stats", data)["features"]
                         for data in (PARQUET / "lists.parquet", as_json))
        self.assertEqual(found, wanted)
        self.refuse("validate", "stats", PARQUET / "holes.parquet",
                    parts=("a list has a value that is null",))

    def test_parquet_is_validated_as_csv(self) -> None:
        wanted = self.json_of("validate", "stats", PARQUET / "cakes.csv")
        for data in (PARQUET / "cakes.parquet", PARQUET / "parts"):
            found = self.json_of("validate", "stats", data)
            self.assertEqual(found["rows"], wanted["rows"])
            for is_as, was in zip(found["features"], wanted["features"]):
                # In a table, nothing but its looks tells a text from a number.
                if was["name"] == "code":
                    self.assertEqual(is_as["type"], "string")
                    continue
                for key in ("type", "present", "missing", "distinct"):
                    self.assertEqual(is_as[key], was[key], was["name"])
                # Numbers are added up in other pieces.
                for key, number in was.get("numbers", {}).items():
                    if isinstance(number, (int, float)):
                        self.assertAlmostEqual(is_as["numbers"][key], number)
        schema = self.folder / "schema.toml"
        self.succeed("validate", "infer", PARQUET / "cakes.parquet", "-o",
                     schema)
        self.succeed("validate", "check", PARQUET / "parts", "--schema", schema)
        # A recipe's data.schema sees the file as it stands, too.
        self.assertTrue(self.weights(
            PARQUET / "cakes.parquet", "data.name=parquet",
            "data.label=heavy", f"data.schema={schema}"))
        schema.write_text(schema.read_text().replace("kilograms", "grams"))
        self.refuse("train", self.folder / "recipe.toml", "--data",
                    PARQUET / "cakes.parquet", "--set", "data.name=parquet",
                    "--set", f"data.schema={schema}", parts=("grams",))
        schema.write_text(schema.read_text().replace("grams", "kilograms"))
        self.refuse("validate", "stats", PARQUET / "deep.parquet",
                    parts=("'deep' is of type list", ".jsonl"))
        # As the name of a data set, too.
        self.succeed("validate", "check", "parquet", "--data",
                     PARQUET / "cakes.parquet", "--schema", schema)

    def test_without_arrow_it_is_said_how_to_get_it(self) -> None:
        done = run("validate", "stats", PARQUET / "cakes.parquet",
                   env={**os.environ, "WEFT_ARROW": "/nowhere/libweft_arrow.so"})
        self.assertEqual(done.returncode, 2, done.stderr)
        for part in ("/nowhere/libweft_arrow.so", "tools/arrow.sh"):
            self.assertIn(part, done.stderr)

    def test_tensors_train_as_csv(self) -> None:
        rows = [line.split(",")
                for line in (HDF5 / "points.csv").read_text().split()[1:]]
        points = b"".join(struct.pack("<4f", *map(float, row[:4]))
                          for row in rows)
        labels = b"".join(struct.pack("<q", int(row[4])) for row in rows)
        path = self.folder / "points.safetensors"
        path.write_bytes(safetensors(x=("F32", [len(rows), 4], points),
                                     label=("I64", [len(rows)], labels)))
        csv = self.weights(HDF5 / "points.csv", "data.standardize=false")
        self.assertEqual(self.weights(path, "data.name=safetensors"), csv)
        self.assertEqual(self.weights(HDF5 / "points.h5", "data.name=hdf5"),
                         csv)
        for data in ("hdf5", "safetensors"):
            stats = self.json_of(
                "validate", "stats", data, "--data",
                path if data == "safetensors" else HDF5 / "points.h5")
            self.assertEqual(stats["rows"], 120)

    def write_pictures(self) -> tuple[Path, Path]:
        """The same as a folder and as shards; every fifth of both is held out, so
        that the order of samples is that of the folder."""
        chance = random.Random(1)
        folder, shards = self.folder / "pictures", self.folder / "shards"
        shards.mkdir()
        files = []
        for label, name in enumerate(("a", "b")):
            (folder / name).mkdir(parents=True)
            for i in range(30):
                colour = tuple(chance.randrange(60) + 150 * (label == c)
                               for c in range(3))
                data = png(12, 12, colour)
                (folder / name / f"{i:02}.png").write_bytes(data)
                files.append((f"{name}{i:02}", data, name))
        for shard in range(3):
            with tarfile.open(shards / f"train-{shard:03}.tar", "w") as tar:
                for name, data, label in files[20 * shard:20 * (shard + 1)]:
                    for kind, content in (("png", data),
                                          ("cls", label.encode())):
                        entry = tarfile.TarInfo(f"{name}.{kind}")
                        entry.size = len(content)
                        tar.addfile(entry, io.BytesIO(content))
        return folder, shards

    def test_shards_train_as_a_folder(self) -> None:
        folder, shards = self.write_pictures()
        images = {"model": "digits-cnn", "options": ""}
        wanted = self.weights(folder, "data.name=image_folder", **images)
        self.assertEqual(self.weights(shards, "data.name=tar", **images), wanted)
        named = self.weights(shards, "data.name=tar",
                             "data.train=train-{000..002}.tar", **images)
        self.assertEqual(named, wanted)
        mixed = self.weights(shards, "data.name=tar", "data.mixed=2", **images)
        self.assertNotEqual(mixed, wanted)
        self.assertEqual(mixed.keys(), wanted.keys())

    def test_new_knows_the_formats(self) -> None:
        _, shards = self.write_pictures()
        for data, said, name in (
                (PARQUET / "cakes.parquet", "480 rows of 5 columns", "parquet"),
                (shards, "48 pictures of 12 x 12, coloured, in 2 classes", "tar"),
                (HDF5 / "points.h5", "120 examples of 4 numbers", "hdf5")):
            recipe = self.folder / f"{name}.toml"
            done = run("new", data, "-o", recipe, "--no-train")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertIn(f'name = "{name}"', recipe.read_text())
            self.succeed("train", recipe, "--set", "train.epochs=1", "--out",
                         self.folder / f"run-{name}")


if __name__ == "__main__":
    unittest.main()
