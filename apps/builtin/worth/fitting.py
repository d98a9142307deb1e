"""Learn which sentences are worth remembering from labelled ones. The same examples give the same weights."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from apps.builtin.worth.buckets import BUCKETS, buckets_of
from apps.builtin.worth.model import CLASSES, Matrix, Model, softmax

DRAWS = 8  # sentences of a template
JOINED = 0.6  # joined sentences for each other one
STEPS, BATCH_SIZE = 400, 512
RATE, BIAS_RATE, DECAY = 0.5, 0.05, 2e-5
START_SQUARE = 1e-6  # of each weight; keeps first steps finite
SEED = 20260301
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Labelled:
    """A sentence with its class."""

    text: str
    label: str
    spoken: bool = True


class UnreadableSentences(ValueError):
    """A file of labelled sentences is not in the form; the message says where."""


def read_sentences(file: Path) -> list[Labelled]:
    """Return a file's sentences, each template filled with ``DRAWS`` random words. Raise UnreadableSentences, OSError.

    A line ``[class]`` stands before the sentences of a class, ``[slots]`` before lines ``name = word|word``, which
    fill ``{name}``. A sentence of narration begins with an asterisk.
    """
    slots: dict[str, list[str]] = {}
    result: dict[Labelled, None] = {}
    label, chance = "", random.Random(SEED)  # noqa: S311
    for number, raw in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            label = line[1:-1]
            if label not in (*CLASSES, "slots"):
                raise UnreadableSentences(f"{file.name}:{number}: no class is called {label}.")
        elif line and label == "slots":
            name, _, words = line.partition(" = ")
            slots[name] = words.split("|")
        elif line:
            sentence = Labelled(line.removeprefix("* "), label, spoken=not line.startswith("* "))
            result |= dict.fromkeys(_filled(sentence, slots, chance))
    return list(result)


def _filled(sentence: Labelled, slots: dict[str, list[str]], chance: random.Random) -> Iterator[Labelled]:
    for _ in range(DRAWS if _SLOT.search(sentence.text) else 1):
        yield replace(sentence, text=_SLOT.sub(lambda match: chance.choice(slots[match[1]]), sentence.text))


def with_joined(sentences: Sequence[Labelled]) -> list[Labelled]:
    """Return sentences of one language, and some of them joined to longer ones: those in chats say several things.

    What is worth remembering stays so beside what isn't; a wish stays one beside small talk.
    """
    chance = random.Random(SEED)  # noqa: S311
    result = list(sentences)
    for _ in range(int(JOINED * len(sentences))):
        one, other = chance.sample(sentences, 2)
        labels = sorted((one.label, other.label), key=CLASSES.index)
        if one.spoken == other.spoken and not ("unreal" in labels and labels[1] != "unreal"):
            mark = chance.choice((", ", " and ", ", ", "; ")) if one.text.isascii() else chance.choice((", ", "，"))
            text = f"{one.text.rstrip('.!。')}{mark}{other.text[:1].lower()}{other.text[1:]}"
            result.append(Labelled(text, labels[1], one.spoken))
    return result


def fit(sentences: Sequence[Labelled]) -> Model:
    """Fit a model by gradient descent with an own step for each weight (Adagrad)."""
    rows = [buckets_of(one.text, spoken=one.spoken) for one in sentences]
    targets = np.eye(len(CLASSES), dtype=np.float32)[[CLASSES.index(one.label) for one in sentences]]
    weights, biases = np.zeros((BUCKETS, len(CLASSES)), np.float32), np.zeros(len(CLASSES), np.float32)
    squares = np.full_like(weights, START_SQUARE)
    order = np.random.default_rng(SEED)
    for _ in range(STEPS):
        batch = order.choice(len(rows), size=min(BATCH_SIZE, len(rows)), replace=False)
        flat = np.concatenate([rows[row] for row in batch])
        lengths = np.array([len(rows[row]) for row in batch])
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        scale = (1 / np.sqrt(lengths))[:, None].astype(np.float32)
        scores = np.add.reduceat(weights[flat], starts) * scale + biases
        errors = (softmax(scores) - targets[batch]) / len(batch)
        used, places = np.unique(flat, return_inverse=True)
        gradient = _summed(np.repeat(errors * scale, lengths, axis=0), places, len(used)) + DECAY * weights[used]
        squares[used] += gradient**2
        weights[used] -= RATE * gradient / np.sqrt(squares[used])
        biases -= BIAS_RATE * errors.sum(axis=0)
    return Model(weights, biases)


def _summed(values: Matrix, places: Matrix, count: int) -> Matrix:
    """Return the sums of the rows that share a place."""
    result: Matrix = np.zeros((count, values.shape[1]), np.float32)
    np.add.at(result, places, values)
    return result
