"""What the turns around a sentence tell of its worth. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.memories.wording import content_words

_CLOSING = "\"'”’*)] "


@dataclass(frozen=True)
class Context:
    """``answers``: the turn before, somebody else's, ended with a question. ``asks``: the turn itself ends with one.
    ``news``: how many words of meaning it brings that no turn before it had."""

    answers: bool = False
    asks: bool = False
    news: int = 0


def contexts(turns: Sequence[Mapping[str, Any]]) -> Iterator[Context]:
    """The context of each turn, in order."""
    heard: set[str] = set()
    before: Mapping[str, Any] | None = None
    for turn in turns:
        words = content_words(turn["text"])
        answers = before is not None and before["speaker"] != turn["speaker"] and _ends_with_question(before["text"])
        yield Context(answers, _ends_with_question(turn["text"]), len(words - heard))
        heard |= words
        before = turn


def _ends_with_question(text: str) -> bool:
    return text.rstrip().rstrip(_CLOSING).endswith(("?", "？", "؟"))
