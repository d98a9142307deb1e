"""The recap of a message, as programs keep it with the message's data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.chats.message_data import RECAP_NAMESPACE, namespace_of
from apps.chats.patches import DataChange


@dataclass(frozen=True)
class Recap:
    """``text`` is the whole of it: what the model was made to begin with, and what it wrote."""

    memory: str | None
    prefill: str | None
    include: str | None
    exclude: bool
    edited: bool
    error: str | None
    reasoning: str | None

    @property
    def text(self) -> str | None:
        return None if self.memory is None else (self.prefill or "") + self.memory


def recap_of(extra: Mapping[str, Any]) -> Recap:
    """The recap in a swipe's ``extra``; what isn't there, or of another type, is None or false."""
    data = namespace_of(extra, RECAP_NAMESPACE)

    def text(key: str) -> str | None:
        return data[key] if isinstance(data.get(key), str) else None

    return Recap(
        memory=text("memory"),
        prefill=text("prefill"),
        include=text("include"),
        exclude=data.get("exclude") is True,
        edited=data.get("edited") is True,
        error=text("error"),
        reasoning=text("reasoning"),
    )


def edited_recap(text: str) -> DataChange:
    """A person writes the recap: it is marked as edited, and what the model said about it goes."""
    return _recap_change(memory=text, error=None, reasoning=None, prefill=None, edited=True)


def cleared_recap() -> DataChange:
    return _recap_change(memory=None, error=None, reasoning=None, prefill=None, edited=False, exclude=False)


def _recap_change(**values: Any) -> DataChange:
    return DataChange(RECAP_NAMESPACE, values)
