"""Questions of the suitability test: scenes, requests, and the facts that a reply should or must not contain.

The scenes and their characters were invented for this test. ``trials.json`` holds the questions in the order of the
stages of a run, and a text file each scene. Facts are matched by word stems.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from apps.extraction.prompts.rendering import join_blocks
from apps.extraction.reading.registry import forms_with_lines
from apps.extraction.tier import Form
from apps.llm.generation import BUILTIN

MAX_EXACT_CHARS = 2  # longer words match also as the beginning of a word ("drown" matches "drowned")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class ReplyStatement:
    """Statement of a reply: its text, its kind, and its subject if the format names one."""

    text: str
    kind: str = ""
    who: str = ""


@dataclass(frozen=True)
class Expectation:
    """Fact that a reply should contain, or must not contain unless ``present``.

    A statement meets it if it contains one alternative of each of ``words``, as a word or the beginning of one, has
    one of ``kinds`` and is about ``who``. Alternatives are separated by bars; empty ``kinds`` and ``who`` match any.
    """

    description: str
    words: tuple[str, ...]
    present: bool = True
    kinds: tuple[str, ...] = ()
    who: str = ""

    def is_met_by(self, statement: ReplyStatement) -> bool:
        """Return whether a statement meets the expectation."""
        if self.kinds and statement.kind not in self.kinds:
            return False
        if self.who and not _contains(statement.who, self.who):
            return False
        return all(_contains(statement.text, alternatives) for alternatives in self.words)


def met_expectations(expectations: Iterable[Expectation], statements: Collection[ReplyStatement]) -> list[Expectation]:
    """Return the expectations that at least one statement meets."""
    return [expectation for expectation in expectations if any(map(expectation.is_met_by, statements))]


def _contains(text: str, alternatives: str) -> bool:
    words = f" {' '.join(_WORD.findall(text.casefold()))} "
    phrases = alternatives.casefold().split("|")
    return any(f" {phrase}{' ' if len(phrase) <= MAX_EXACT_CHARS else ''}" in words for phrase in phrases)


FOLDER = Path(__file__).parent
WAYS = ("plain", "reading")  # other ways to ask about what the tiers keep, which don't count towards the score
MAX_TOKENS = 1600  # of a reply, where the trial names no other limit


@dataclass(frozen=True)
class Trial:
    """Question of the test: a task on a scene, and the expectations for the reply.

    ``enough`` is the share of expected facts that suffices for the full score, since a model has to choose.
    """

    task: str
    scene: str
    material: Mapping[str, Any]
    expectations: Sequence[Expectation]
    enough: float = 0.75
    lines: int = 1  # minimum number of lines of a usable reply
    max_tokens: int = MAX_TOKENS
    forms: Sequence[Form] = ()  # of the lines that a reading asks for

    @property
    def expected(self) -> list[Expectation]:
        """Return the facts that the reply should contain."""
        return [expectation for expectation in self.expectations if expectation.present]

    @property
    def forbidden(self) -> list[Expectation]:
        """Return the facts that the reply must not contain."""
        return [expectation for expectation in self.expectations if not expectation.present]


def trials_for(backend: str) -> list[Trial]:
    """Return the questions for a backend; the built-in one answers those of each tier alone."""
    return [trial for trial in trials() if backend != BUILTIN or trial.task not in WAYS]


def trial_of(task: str) -> Trial:
    """Return the question of a task."""
    return next(trial for trial in trials() if trial.task == task)


@cache
def trials() -> tuple[Trial, ...]:
    """Return all questions. Raise ValueError, TypeError or KeyError if the file is malformed."""
    document = json.loads((FOLDER / "trials.json").read_text(encoding="utf-8"))
    shared = {name: _expectation(fields, present=False) for name, fields in document["forbidden"].items()}
    return tuple(_trial(fields, document["players"], shared) for fields in document["trials"])


def _trial(fields: dict[str, Any], players: Mapping[str, str], shared: Mapping[str, Expectation]) -> Trial:
    """Return a question; ``turns`` are the limits of the slice of its scene, and strings name shared expectations."""
    expected = [_expectation(item, present=True) for item in fields.pop("expected")]
    forbidden = [
        shared[item] if isinstance(item, str) else _expectation(item, present=False) for item in fields.pop("forbidden")
    ]
    if not expected:
        raise ValueError(f"The trial {fields['task']} expects nothing.")
    turns = _turns_of(fields["scene"], players[fields["scene"]])
    limits = fields.pop("turns", None)
    material = fields.pop("material") | ({"turns": turns[slice(*limits)]} if limits else {})
    if "forms" in fields:
        named = {form.name: form for form in forms_with_lines()}
        fields["forms"] = forms = [named[name] for name in fields["forms"]]
        material["forms"] = join_blocks((form.task, form.part, material) for form in forms)
    return Trial(material=material, expectations=(*expected, *forbidden), **fields)


def _expectation(fields: dict[str, Any], present: bool) -> Expectation:
    words, kinds = tuple(fields.pop("words", ())), tuple(fields.pop("kinds", ()))
    if not (words or kinds or fields.get("who")):
        raise ValueError(f"Any statement would meet “{fields['description']}”.")
    return Expectation(words=words, kinds=kinds, present=present, **fields)


def _turns_of(scene: str, player: str) -> list[dict[str, Any]]:
    """Return the turns of a scene, numbered from 1; ``player`` is the speaker whom the user plays, or empty."""
    text = (FOLDER / f"{scene}.txt").read_text(encoding="utf-8")
    speeches = [part.partition(": ") for part in text.strip().split("\n\n")]
    return [
        {"number": number, "speaker": speaker, "is_user": speaker == player, "text": words}
        for number, (speaker, _, words) in enumerate(speeches, 1)
    ]
