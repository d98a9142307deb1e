"""Patches to messages, and a message while they are applied to it. Nothing here reads or writes the database."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from apps.chats.dates import parse_date
from apps.chats.formats.layout import dump, forget_layout
from apps.chats.formats.parsed import ParsedMessage, ParsedSwipe
from apps.chats.images import message_image
from apps.chats.message_data import check_extra, check_size, check_values, ends_scene, namespace_of
from apps.chats.models import Message, Swipe
from apps.common import merge_patch
from apps.common.problems import Invalid


@dataclass(frozen=True)
class Splice:
    """Replaces ``delete`` code points of a text, from position ``at`` on, by ``insert``."""

    at: int
    delete: int
    insert: str


@dataclass(frozen=True)
class DataChange:
    """Sets keys of a namespace of a message's data to ``values``, null being one, and deletes those in ``clear``."""

    namespace: str
    values: Mapping[str, Any] = field(default_factory=dict)
    clear: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Patch:
    """Changes to one message, named by ``id`` or ``index``.

    ``values`` are of mes, name, participant, is_system and send_date. The parts apply in the order in which they
    stand here, so that text and data are those of the swipe that is active after the patch. ``delete`` stands alone.
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


class Draft:
    """A message with patches applied in memory. ``swipes`` are in their order; the active one is ``active``."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.swipes = message.ordered_swipes
        self.active = message.active_swipe
        self.before = message_image(message, self.swipes)
        self.is_changed = False
        self._stored = {swipe.pk for swipe in self.swipes}
        self._written: set[str] = set()

    @property
    def added_swipes(self) -> list[Swipe]:
        return [swipe for swipe in self.swipes if swipe.pk not in self._stored]

    @property
    def kept_swipes(self) -> list[Swipe]:
        return [swipe for swipe in self.swipes if swipe.pk in self._stored]

    @property
    def removed_swipe_ids(self) -> set[UUID]:
        return self._stored - {swipe.pk for swipe in self.swipes}

    def apply(self, patch: Patch, at: str) -> None:
        """Apply the parts of ``patch`` that stay within the message; ``at`` is its pointer. Raises Invalid."""
        before = self._content()
        self._change_swipes(patch, at)
        self._set(patch.values)
        if patch.extra is not None:
            self._merge_extra(patch.extra, at)
        if patch.data is not None:
            self._change_data(patch.data)
        if patch.splice is not None:
            self._set({"mes": spliced(self.active.mes, patch.splice, at)})
        self._settle()
        self.is_changed |= self._content() != before

    def _change_swipes(self, patch: Patch, at: str) -> None:
        if patch.add_swipe is not None:
            self._add_swipe(patch.add_swipe)
        if patch.delete_swipe is not None:
            self._delete_swipe(patch.delete_swipe, f"{at}/delete_swipe")
        if patch.swipe_order is not None:
            self._reorder(patch.swipe_order, f"{at}/swipe_order")
        if patch.swipe_id is not None:
            self.active = self._swipe_at(patch.swipe_id, f"{at}/swipe_id")
            self._written.add("swipes")

    def _add_swipe(self, swipe: ParsedSwipe) -> None:
        owner_id = self.message.owner_id
        self.active = Swipe(owner_id=owner_id, message=self.message, mes=swipe.mes, extra=swipe.extra, info=swipe.info)
        self.swipes.append(self.active)
        self._written.add("swipes")

    def _delete_swipe(self, position: int, at: str) -> None:
        gone = self._swipe_at(position, at)
        if len(self.swipes) == 1:
            raise Invalid.at(at, "The only swipe of a message can't be deleted. Delete the message.")
        self.swipes.remove(gone)
        if gone is self.active:
            self.active = self.swipes[min(position, len(self.swipes) - 1)]
        self._written.add("swipes")

    def _reorder(self, order: tuple[int, ...], at: str) -> None:
        if sorted(order) != list(range(len(self.swipes))):
            raise Invalid.at(at, f"It must name each of the {len(self.swipes)} swipes once.")
        self.swipes = [self.swipes[position] for position in order]
        self._written.add("swipes")

    def _swipe_at(self, position: int, at: str) -> Swipe:
        if position >= len(self.swipes):
            raise Invalid.at(at, f"The message has {len(self.swipes)} swipes.")
        return self.swipes[position]

    def _set(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if name == "mes":
                self.active.mes = value
            else:
                setattr(self.message, name, value)
        if "send_date" in values:
            self.message.sent_at = parse_date(self.message.send_date)
        self._written.update(values.keys() - {"participant_id"})  # chat files know the speaker by name

    def _merge_extra(self, changes: Mapping[str, Any], at: str) -> None:
        self.active.extra = merge_patch.apply(self.active.extra, dict(changes))
        check_extra(self.active.extra, changes, f"{at}/extra")
        self._written.add("extra")

    def _change_data(self, change: DataChange) -> None:
        known = namespace_of(self.active.extra, change.namespace)
        data = {key: value for key, value in (known | dict(change.values)).items() if key not in change.clear}
        check_values(change.namespace, change.values, "/data")
        check_size(change.namespace, data, "/data")
        rest = {key: value for key, value in self.active.extra.items() if key != change.namespace}
        self.active.extra = self.active.extra | {change.namespace: data} if data else rest
        self._written.add("extra")

    def _content(self) -> str:
        """All that a patch can change but the place, as text: equal only where it is the same to JSON."""
        return dump(message_image(self.message, self.swipes))

    def _settle(self) -> None:
        """Bring what follows from the rest in line with it."""
        message = self.message
        for position, swipe in enumerate(self.swipes):
            swipe.position = position
        message.swipe_id = self.active.position
        message.ends_scene = ends_scene(self.active.extra)
        message.layout = forget_layout(message.layout, self._written)


def spliced(text: str, splice: Splice, at: str) -> str:
    """``text`` with the splice in it. Raises Invalid where it reaches past the end."""
    if splice.at > len(text):
        raise Invalid.at(f"{at}/splice/at", f"The text has {len(text)} code points.")
    if splice.at + splice.delete > len(text):
        raise Invalid.at(f"{at}/splice/delete", f"From {splice.at} on, the text has {len(text) - splice.at} more.")
    return text[: splice.at] + splice.insert + text[splice.at + splice.delete :]
