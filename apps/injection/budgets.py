"""Chooses what goes into a slot, so that the text as it will stand in the prompt keeps within its budget."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

Render = Callable[[Sequence[str]], str]
Count = Callable[[str], int]


class Candidate(Protocol):
    """Something that could go into a slot."""

    @property
    def line(self) -> str: ...

    @property
    def usefulness(self) -> float: ...


@dataclass(frozen=True)
class Fitted[C: Candidate]:
    """The entries kept, in the order given, and their text.

    ``tokens`` is what ``text`` costs, ``full_tokens`` what all candidates would have cost, ``trimmed`` how many
    were left out.
    """

    kept: list[C]
    text: str
    tokens: int
    full_tokens: int
    trimmed: int
