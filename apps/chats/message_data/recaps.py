"""Read and change the recap of a message, which is stored in the message's data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.chats.message_data.namespaces import RECAP_NAMESPACE, DataChange, SwipeName, namespace_of


@dataclass(frozen=True)
class Recap:
    """A summary of a message. ``prefill`` is the beginning given to the model, ``memory`` its continuation."""

    memory: str | None
    prefill: str | None
    include: str | None
    exclude: bool
    edited: bool
    error: str | None
    reasoning: str | None

    @property
    def text(self) -> str | None:
        """Return prefill and memory together, or None without a memory."""
        return None if self.memory is None else (self.prefill or "") + self.memory


def recap_of(extra: Mapping[str, Any]) -> Recap:
    """Return the recap in a swipe's ``extra``. A value that is missing or of another type is None or False."""
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


def recap_edit(text: str, swipe: SwipeName = None) -> DataChange:
    """Return the change that stores a recap written by a person, and clears the model's error and reasoning."""
    values = {"memory": text, "error": None, "reasoning": None, "prefill": None, "edited": True}
    return DataChange(RECAP_NAMESPACE, values, swipe=swipe)


def recap_removal(swipe: SwipeName = None) -> DataChange:
    """Return the change that clears a recap."""
    values = {"memory": None, "error": None, "reasoning": None, "prefill": None, "edited": False, "exclude": False}
    return DataChange(RECAP_NAMESPACE, values, swipe=swipe)
