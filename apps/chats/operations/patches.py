"""Describe changes to messages. Nothing here reads or writes the database."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from apps.chats.message_data.namespaces import DataChange
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.common.problems import Invalid


@dataclass(frozen=True)
class Splice:
    """Replace ``delete`` code points of a text, from position ``at`` on, by ``insert``."""

    at: int
    delete: int
    insert: str

    def apply(self, text: str, pointer: str) -> str:
        """Return ``text`` after the splice. Raise Invalid, with ``pointer``, if it reaches past the end."""
        if self.at > len(text):
            raise Invalid.at(f"{pointer}/at", f"The text has {len(text)} code points.")
        if self.at + self.delete > len(text):
            raise Invalid.at(f"{pointer}/delete", f"Only {len(text) - self.at} code points follow position {self.at}.")
        return text[: self.at] + self.insert + text[self.at + self.delete :]


@dataclass(frozen=True)
class Patch:
    """Changes to one message, identified by ``id`` or ``index``.

    ``values`` may have mes, name, participant_id, is_system and send_date. Changes of the swipes apply first, in the
    order of the fields here, then ``values`` and the rest: text and data are those of the swipe that is active after
    the patch. If ``delete`` is set, the other parts are ignored.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    id: UUID | None = None
    index: int | None = None
    if_rev: int | None = None
    add_swipe: ParsedSwipe | None = None
    delete_swipe: int | None = None
    swipe_order: tuple[int, ...] | None = None
    swipe_id: int | None = None
    extra: Mapping[str, Any] | None = None
    data: DataChange | None = None
    splice: Splice | None = None
    insert_before: ParsedMessage | None = None
    move_to: int | None = None
    delete: bool = False
