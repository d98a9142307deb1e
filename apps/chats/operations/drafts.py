"""Messages and their swipes, loaded to have patches applied, and saved."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from apps.chats.dates import parse_date
from apps.chats.message_data.layout import forget_layout
from apps.chats.message_data.namespaces import DataChange, check_extra, ends_scene, is_left_out, swipe_position
from apps.chats.message_data.parsed import ParsedSwipe
from apps.chats.models import Chat, Message, Swipe
from apps.chats.operations.message_states import message_state, swipe_state
from apps.chats.operations.patches import Patch
from apps.chats.scenes import with_scene_of
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.documents import merge_patch
from apps.common.problems import Invalid

PATCHED_FIELDS = [
    *("name", "participant", "is_system", "send_date", "sent_at", "swipe_id"),
    *("ends_scene", "left_out", "layout", "rev", "updated_at"),
]


class Draft:
    """A message with patches applied. ``swipes`` are in their new order; ``before`` is the stored state.

    Texts that the patches write are those of ``instance``.
    """

    def __init__(self, message: Message, swipes: Sequence[Swipe], instance: str = "") -> None:
        self.message = message
        self.instance = instance
        self.swipes = list(swipes)
        self.active = self.swipes[message.swipe_id]
        self.before = message_state(message, swipes)
        self.stored_swipe_ids = {swipe.pk for swipe in swipes}
        self.is_changed = False
        self._changed_keys: set[str] = set()  # keys of the message's line in a chat file

    @property
    def removed_swipe_ids(self) -> set[UUID]:
        return self.stored_swipe_ids - {swipe.pk for swipe in self.swipes}

    def apply(self, patch: Patch, pointer: str) -> bool:
        """Apply the parts of a patch that stay within the message. Return whether they changed it. Raise Invalid."""
        before, shown = self._serialized(), self.active
        if patch.add_swipe is not None:
            self._add_swipe(patch.add_swipe)
        if patch.delete_swipe is not None:
            self._delete_swipe(patch.delete_swipe, f"{pointer}/delete_swipe")
        if patch.swipe_order is not None:
            self._reorder_swipes(patch.swipe_order, f"{pointer}/swipe_order")
        if patch.swipe_id is not None:
            self.active = self._swipe_at(patch.swipe_id, f"{pointer}/swipe_id")
            self._changed_keys.add("swipes")
        if self.active is not shown:
            self.active.extra = with_scene_of(shown.extra, self.active.extra)
        self._set_values(patch.values)
        if patch.extra is not None:
            self.active.extra = merge_patch.apply(self.active.extra, dict(patch.extra))
            check_extra(self.active.extra, patch.extra, f"{pointer}/extra")
            self._changed_keys.add("extra")
        if patch.data is not None:
            self._change_data(patch.data)
        if patch.splice is not None:
            self._set_values({"mes": patch.splice.apply(self.active.mes, f"{pointer}/splice")})
        self._update_derived_fields()
        has_changed = self._serialized() != before
        self.is_changed |= has_changed
        return has_changed

    def save(self) -> None:
        """Save the message, and those of its swipes that differ from the stored ones."""
        message = self.message
        swipes = Swipe.objects.for_owner(message.owner_id)
        if self.removed_swipe_ids:
            swipes.filter(pk__in=self.removed_swipe_ids).delete()
        stored = {state["id"]: (position, state) for position, state in enumerate(self.before["swipes"])}
        for swipe in self.swipes:
            if swipe.pk in self.stored_swipe_ids and stored[str(swipe.pk)] != (swipe.position, swipe_state(swipe)):
                swipes.filter(pk=swipe.pk).update(
                    position=swipe.position, mes=swipe.mes, extra=swipe.extra, instance=swipe.instance
                )
        added = [swipe for swipe in self.swipes if swipe.pk not in self.stored_swipe_ids]
        if added:
            Swipe.objects.bulk_create(added)
        message.rev += 1
        message.updated_at = timezone.now()
        message.save(update_fields=PATCHED_FIELDS)

    def _add_swipe(self, parsed: ParsedSwipe) -> None:
        owner_id = self.message.owner_id
        self.active = Swipe(
            owner_id=owner_id,
            message=self.message,
            mes=parsed.mes,
            extra=parsed.extra,
            info=parsed.info,
            instance=self.instance,
        )
        self.swipes.append(self.active)
        self._changed_keys.add("swipes")

    def _change_data(self, change: DataChange) -> None:
        position = swipe_position(change.swipe, self.swipes.index(self.active), len(self.swipes))
        for target in self.swipes if change.every_swipe else [self.swipes[position]]:
            target.extra = change.apply(target.extra)
            self._changed_keys.add("extra" if target is self.active else "swipes")

    def _delete_swipe(self, position: int, pointer: str) -> None:
        deleted = self._swipe_at(position, pointer)
        if len(self.swipes) == 1:
            raise Invalid.at(pointer, "The only swipe of a message can't be deleted. Delete the message.")
        self.swipes.remove(deleted)
        if deleted is self.active:
            self.active = self.swipes[min(position, len(self.swipes) - 1)]
        self._changed_keys.add("swipes")

    def _reorder_swipes(self, order: Sequence[int], pointer: str) -> None:
        if sorted(order) != list(range(len(self.swipes))):
            raise Invalid.at(pointer, f"It must name each swipe once, from 0 to {len(self.swipes) - 1}.")
        self.swipes = [self.swipes[position] for position in order]
        self._changed_keys.add("swipes")

    def _swipe_at(self, position: int, pointer: str) -> Swipe:
        if position >= len(self.swipes):
            raise Invalid.at(pointer, f"It must be less than the number of swipes, {len(self.swipes)}.")
        return self.swipes[position]

    def _set_values(self, values: Mapping[str, Any]) -> None:
        if values.get("mes", self.active.mes) != self.active.mes:
            self.active.instance = self.instance
        for name, value in values.items():
            setattr(self.active if name == "mes" else self.message, name, value)
        if "send_date" in values:
            self.message.sent_at = parse_date(self.message.send_date)
        self._changed_keys.update(values.keys() - {"participant_id"})  # chat files identify speakers by name

    def _serialized(self) -> str:
        """Return all that a patch can change, except the index, as JSON text: in Python, 1, 1.0 and True are equal."""
        return json.dumps(message_state(self.message, self.swipes))

    def _update_derived_fields(self) -> None:
        """Update the fields that are computed from others."""
        message = self.message
        for position, swipe in enumerate(self.swipes):
            swipe.position = position
        message.swipe_id = self.active.position
        if self._changed_keys & {"extra", "swipes"}:
            message.ends_scene = ends_scene(self.active.extra)
            message.left_out = is_left_out(self.active.extra)
        if message.layout:
            message.layout = forget_layout(message.layout, self._changed_keys)


def _with_messages(owner: Any, chat: Any, **condition: Any) -> QuerySet[Swipe]:
    """Return the swipes that meet a condition, with their messages; those of one message by position."""
    rows = Swipe.objects.for_owner(owner).filter(message__chat=chat, **condition)
    return rows.select_related("message").order_by("position")


SWIPES_BY_ID = CompiledQuery(lambda owner, chat, ids: _with_messages(owner, chat, message__id__any=ids))
SWIPES_BY_INDEX = CompiledQuery(lambda owner, chat, indexes: _with_messages(owner, chat, message__index__any=indexes))


def load_drafts(chat: Chat, patches: Collection[Patch], instance: str) -> dict[UUID, Draft]:
    """Return a draft of each message that the patches name, by id."""
    ids = {patch.id for patch in patches if patch.id}
    indexes = {patch.index for patch in patches if patch.id is None and patch.index is not None}
    rows: list[Swipe] = []
    # One query for each way to name a message: a single one, with OR, would read all messages of the chat.
    if ids:
        rows += SWIPES_BY_ID.rows(chat.owner_id, chat.pk, list(ids))
    if indexes:
        rows += SWIPES_BY_INDEX.rows(chat.owner_id, chat.pk, list(indexes))
    groups = defaultdict(list)
    for swipe in {row.pk: row for row in rows}.values():
        groups[swipe.message_id].append(swipe)
    return {pk: Draft(group[0].message, group, instance) for pk, group in groups.items()}
