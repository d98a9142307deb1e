"""Select the items of a slot so that its rendered text stays within a token budget."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

RenderFunction = Callable[[Sequence[str]], str]
CountFunction = Callable[[str], int]


class SlotItem(Protocol):
    """A line of text for a slot. Items of lower ``priority`` are left out first."""

    @property
    def written(self) -> str: ...

    @property
    def priority(self) -> float: ...


Item = TypeVar("Item", bound=SlotItem)


@dataclass(frozen=True)
class Fitted(Generic[Item]):
    """The items kept, in the given order, and their rendered text.

    ``tokens`` is the number of tokens of ``text``, ``full_tokens`` that of all items. ``left_out`` are the items that
    did not fit, in the given order.
    """

    kept: list[Item]
    text: str
    tokens: int
    full_tokens: int
    left_out: list[Item]

    @property
    def trimmed(self) -> int:
        return len(self.left_out)


def fit(items: Sequence[Item], budget: int, render: RenderFunction, count: CountFunction) -> Fitted[Item]:
    """Return the items of highest priority whose rendered text has at most ``budget`` tokens.

    Try the items by priority and keep each one that still fits: a short item of low priority may fit after a longer
    one did not. Try items of equal priority in the given order.
    """
    full = render([item.written for item in items])
    full_tokens = count(full)
    if full_tokens <= budget:
        return Fitted(list(items), full, full_tokens, full_tokens, [])
    kept: list[int] = []
    left_out: list[int] = []
    text, tokens = "", 0
    waiting = sorted(range(len(items)), key=lambda i: -items[i].priority)
    while waiting:
        left_out = []
        for position in waiting:
            positions = sorted([*kept, position])
            # The whole text is counted each time: the token counts of lines don't add up to that of their text.
            candidate = render([items[i].written for i in positions])
            candidate_tokens = count(candidate)
            if candidate_tokens <= budget:
                kept, text, tokens = positions, candidate, candidate_tokens
            else:
                left_out.append(position)
        # What did not fit before may fit between lines that were kept later, since tokens span lines.
        waiting = left_out if len(left_out) < len(waiting) else []
    return Fitted([items[i] for i in kept], text, tokens, full_tokens, [items[i] for i in sorted(left_out)])
