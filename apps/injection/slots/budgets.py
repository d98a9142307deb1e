"""Select the items of a slot so that its rendered text stays within a token budget."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Render = Callable[[Sequence[str]], str]
Count = Callable[[str], int]


class SlotItem(Protocol):
    """A line of text that competes for a slot. A higher ``priority`` is kept longer."""

    @property
    def line(self) -> str: ...

    @property
    def priority(self) -> float: ...


Item = TypeVar("Item", bound=SlotItem)


@dataclass(frozen=True)
class Fitted(Generic[Item]):
    """The items kept, in the given order, and their rendered text.

    ``tokens`` is the cost of ``text``, ``full_tokens`` the cost of all items, ``trimmed`` the number left out.
    """

    kept: list[Item]
    text: str
    tokens: int
    full_tokens: int
    trimmed: int


def fit(items: Sequence[Item], budget: int, render: Render, count: Count) -> Fitted[Item]:
    """Return the whole items of highest priority whose rendered text costs at most ``budget`` tokens.

    Tries the items by priority and keeps each one that still fits: a short item of low priority may use room that a
    long one leaves. Items of equal priority are tried in the given order.
    """
    full = render([item.line for item in items])
    full_tokens = count(full)
    if full_tokens <= budget:
        return Fitted(list(items), full, full_tokens, full_tokens, 0)
    kept: list[int] = []
    text, tokens = "", 0
    for position in sorted(range(len(items)), key=lambda i: -items[i].priority):
        positions = sorted([*kept, position])
        # The whole text is counted each time: the tokens of lines do not add up to those of their text.
        attempt = render([items[i].line for i in positions])
        cost = count(attempt)
        if cost <= budget:
            kept, text, tokens = positions, attempt, cost
    return Fitted([items[i] for i in kept], text, tokens, full_tokens, len(items) - len(kept))
