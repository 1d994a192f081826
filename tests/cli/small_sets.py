"""Small sets in the formats of the real ones, so that every recipe can be
trained where those are not: the shipped digits as MNIST's and CIFAR-10's
files, sentences, translations and parse trees by rules that a model can
learn."""

import gzip
import random
import struct
from pathlib import Path

from weft import ROOT

SIDE = 8  # of a shipped digit
TEST_DIGITS = 200
WORDS, SUCCESSORS = 50, 2


def digits() -> tuple[list[bytes], bytes]:
    folder = ROOT / "data" / "digits"
    pixels = gzip.decompress(
        (folder / "digits-images-idx3-ubyte.gz").read_bytes())[16:]
    labels = gzip.decompress(
        (folder / "digits-labels-idx1-ubyte.gz").read_bytes())[8:]
    images = [pixels[i:i + SIDE * SIDE]
              for i in range(0, len(pixels), SIDE * SIDE)]
    return images, labels


def enlarged(image: bytes, times: int, border: int) -> bytes:
    """Each pixel (0 to 16) as a square, inside a border of zeros."""
    wide = SIDE * times + 2 * border
    rows = [bytes(border)
            + bytes(min(255, 16 * value) for value in image[at:at + SIDE]
                    for _ in range(times))
            + bytes(border) for at in range(0, SIDE * SIDE, SIDE)]
    return (bytes(border * wide) + b"".join(row * times for row in rows)
            + bytes(border * wide))


def write_mnist(folder: Path) -> None:
    images, labels = digits()
    for prefix, part in (("t10k", slice(TEST_DIGITS)),
                         ("train", slice(TEST_DIGITS, None))):
        pixels = b"".join(enlarged(image, 3, 2) for image in images[part])
        count = len(labels[part])
        for name, header, content in (
                ("images-idx3", (0x803, count, 28, 28), pixels),
                ("labels-idx1", (0x801, count), labels[part])):
            with gzip.open(folder / f"{prefix}-{name}-ubyte.gz", "wb") as file:
                file.write(struct.pack(f">{len(header)}I", *header) + content)


def write_cifar10(folder: Path) -> None:
    images, labels = digits()
    for name, part in (("test_batch", slice(TEST_DIGITS)),
                       ("data_batch_1", slice(TEST_DIGITS, None))):
        (folder / f"{name}.bin").write_bytes(b"".join(
            bytes([label]) + 3 * enlarged(image, 4, 0)
            for image, label in zip(images[part], labels[part])))


def write_ptb(folder: Path) -> None:
    """Each word has a few that may follow it."""
    chance = random.Random(1)
    follow = [chance.sample(range(WORDS), SUCCESSORS) for _ in range(WORDS)]

    def sentence() -> str:
        word = chance.randrange(WORDS)
        words = []
        for _ in range(20):
            words.append(f"word{word}")
            word = chance.choice(follow[word])
        return " " + " ".join(words) + " \n"

    for name, count in (("train", 1000), ("valid", 50), ("test", 50)):
        (folder / f"ptb.{name}.txt").write_text(
            "".join(sentence() for _ in range(count)))


def write_tinyshakespeare(folder: Path) -> None:
    """Lines of two letters, of which the first says which the second is."""
    chance = random.Random(1)
    text = "".join(chance.choice(("ab", "bc", "cd", "da")) + "\n"
                   for _ in range(4000))
    (folder / "input.txt").write_text(text)


def write_sst(folder: Path) -> None:
    """A phrase is as good as the better of its halves."""
    chance = random.Random(1)

    def tree(leaves: int) -> tuple[int, str]:
        if leaves == 1:
            kind = chance.randrange(5)
            return kind, f"({kind} word{kind}{chance.randrange(4)})"
        left = chance.randrange(1, leaves)
        (a, left_text), (b, right_text) = tree(left), tree(leaves - left)
        return max(a, b), f"({max(a, b)} {left_text} {right_text})"

    for name, count in (("train", 600), ("dev", 50), ("test", 200)):
        (folder / f"{name}.txt").write_text("".join(
            tree(chance.randrange(1, 6))[1] + "\n" for _ in range(count)))


def person(chance: random.Random) -> list[str]:
    """Who works much and has learned something earns much. One in ten does not
    say where he works."""
    hours = chance.randrange(10, 70)
    school = chance.choice(["HS-grad", "Bachelors", "Masters"])
    is_rich = hours > {"HS-grad": 60, "Bachelors": 40, "Masters": 25}[school]
    is_woman = chance.random() < 0.5
    marriage = chance.choice(["Married-civ-spouse", "Never-married"])
    job = "Sales" if marriage == "Never-married" else "Craft-repair"
    return [str(chance.randrange(17, 90)),
            "?" if chance.random() < 0.1 else "Private",
            str(chance.randrange(10**6)), school, "9", marriage, job,
            "Husband" if marriage != "Never-married" else "Own-child",
            "White", "Female" if is_woman else "Male",
            str(0 if is_woman else 2000), "0", str(hours), "Cuba",
            ">50K" if is_rich else "<=50K"]


def write_adult(folder: Path) -> None:
    chance = random.Random(1)
    for name, count, end in (("adult.data", 4000, ""),
                             ("adult.test", 400, ".")):
        (folder / name).write_text("".join(
            ", ".join(person(chance)) + end + "\n" for _ in range(count)))


def write_taxi(folder: Path) -> None:
    """A trip costs by its distance, and more at night; some say not where it
    ended."""
    chance = random.Random(1)
    names = ("pickup_community_area,fare,trip_start_month,trip_start_hour,"
             "trip_start_day,trip_start_timestamp,pickup_latitude,"
             "pickup_longitude,dropoff_latitude,dropoff_longitude,trip_miles,"
             "pickup_census_tract,dropoff_census_tract,payment_type,company,"
             "trip_seconds,dropoff_community_area,tips")
    lines = [names]
    for _ in range(2000):
        begin, end = chance.randrange(1, 6), chance.randrange(1, 6)
        hour = chance.randrange(24)
        fare = 3.25 + 8 * abs(begin - end) + (4 if hour < 6 else 0)
        is_known = chance.random() < 0.95
        place = f"{41 + end / 10},{-87 - end / 10}" if is_known else ","
        lines.append(f"{begin},{fare},{chance.randrange(1, 13)},{hour},"
                     f"{chance.randrange(1, 8)},{chance.randrange(10**9)},"
                     f"{41 + begin / 10},{-87 - begin / 10},{place},0.0,,,Cash,"
                     f"{chance.choice(['', 'Choice'])},,"
                     f"{end if is_known else ''},0")
    (folder / "data.csv").write_text("\n".join(lines) + "\n")


def write_multi30k(folder: Path) -> None:
    """A sentence is translated word by word, but for its end, which comes
    first."""
    chance = random.Random(1)
    for part, count in (("train", 1000), ("val", 40), ("test_2016_flickr", 40)):
        sentences = [[chance.randrange(8) for _ in range(chance.randrange(3, 7))]
                     for _ in range(count)]
        for language, word, turned in (("de", "wort", False),
                                       ("en", "word", True)):
            lines = (words[-1:] + words[:-1] if turned else words
                     for words in sentences)
            with gzip.open(folder / f"{part}.lc.norm.tok.{language}.gz",
                           "wt") as file:
                file.writelines(" ".join(f"{word}{n}" for n in line) + "\n"
                                for line in lines)


def write_cora(folder: Path) -> None:
    """Four circles: nodes are joined to others of their number modulo 4."""
    source = random.Random(1)
    edges = {(i, i % 4 + 4 * source.randrange(30))
             for i in range(120) for _ in range(6)}
    (folder / "cora.edges.txt").write_text(
        "".join(f"{a} {b}\n" for a, b in sorted(edges)))


WRITERS = {"mnist": write_mnist, "fashion-mnist": write_mnist,
           "cifar10": write_cifar10, "ptb": write_ptb, "sst": write_sst,
           "adult": write_adult, "chicago-taxi": write_taxi,
           "multi30k": write_multi30k, "cora": write_cora,
           "tinyshakespeare": write_tinyshakespeare}


def write_set(name: str, data: Path) -> None:
    """As DATA/NAME, where --data DATA finds it."""
    folder = data / name
    folder.mkdir(parents=True)
    WRITERS[name](folder)
