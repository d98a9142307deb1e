"""Chooses what goes into a slot, so that the text as it will stand in the prompt keeps within its budget."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Render = Callable[[Sequence[str]], str]
Count = Callable[[str], int]


class Candidate(Protocol):
    """Something that could go into a slot."""

    @property
    def line(self) -> str: ...

    @property
    def usefulness(self) -> float: ...


C = TypeVar("C", bound=Candidate)


@dataclass(frozen=True)
class Fitted(Generic[C]):
    """The candidates kept, in the order given, and their text.

    ``tokens`` is what ``text`` costs, ``full_tokens`` what all candidates would have cost, ``trimmed`` how many
    were left out.
    """

    kept: list[C]
    text: str
    tokens: int
    full_tokens: int
    trimmed: int


def fit(candidates: Sequence[C], budget: int, render: Render, count: Count) -> Fitted[C]:
    """The most useful whole candidates whose rendered text costs at most ``budget`` tokens.

    Each is taken, the most useful first, if the text still fits with it: the least useful go first, and what they
    leave free is filled with what still fits. Equally useful ones are taken in the order given.
    """
    full = render([candidate.line for candidate in candidates])
    full_tokens = count(full)
    if full_tokens <= budget:
        return Fitted(list(candidates), full, full_tokens, full_tokens, 0)
    kept: list[int] = []
    text, tokens = "", 0
    for position in by_usefulness(candidates):
        chosen = sorted([*kept, position])
        attempt = render([candidates[i].line for i in chosen])
        cost = count(attempt)
        if cost <= budget:
            kept, text, tokens = chosen, attempt, cost
    return Fitted([candidates[i] for i in kept], text, tokens, full_tokens, len(candidates) - len(kept))


def by_usefulness(candidates: Sequence[Candidate]) -> list[int]:
    """Positions, the most useful first."""
    return sorted(range(len(candidates)), key=lambda i: -candidates[i].usefulness)
