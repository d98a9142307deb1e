"""Describe writes to messages and metadata on the page of recent changes, from what the change log keeps for undo."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.authentication import token_names
from apps.chats.message_data.namespaces import RECAP_NAMESPACE, ends_scene, is_left_out, namespace_of
from apps.chats.models import Chat, ChatChange, Message
from apps.chats.operations.message_states import message_state
from apps.chats.pages.markup import plain_text, without_markup
from apps.common.words import Words

State = Mapping[str, Any]  # a ``message_state``
# Metadata that pages write. Programs name theirs themselves.
KEY_LABELS: Mapping[str, Words] = {
    "note_prompt": _("Author’s note"),
    "note_depth": _("depth of the author’s note"),
}
MAX_SHOWN = 20  # messages of one change


@dataclass(frozen=True)
class ChangedMessage:
    """A message that a write changed. ``before`` is None if it added the message, ``now`` if that doesn't exist."""

    before: State | None
    now: State | None
    words: str

    @property
    def state(self) -> State:
        state = self.before or self.now
        assert state is not None
        return state

    @property
    def text_before(self) -> str:
        return _active(self.before)["mes"] if self.before else ""

    @property
    def text_now(self) -> str:
        return _active(self.now)["mes"] if self.now else ""


@dataclass(frozen=True)
class ChangedKey:
    """A key of the metadata that a write changed, with its values as text."""

    name: Words
    before: str
    now: str


@dataclass(frozen=True)
class DescribedChange:
    """A write with what it changed. ``program`` is the name of the API token that wrote it, or empty."""

    change: ChatChange
    messages: list[ChangedMessage]
    keys: list[ChangedKey]
    is_undone: bool
    program: str

    @property
    def title(self) -> str:
        """Return what was changed, such as "Message 12: text changed" or "3 messages: deleted"."""
        if not self.messages:
            return gettext("Data of the chat: %(names)s") % {"names": ", ".join(str(key.name) for key in self.keys)}
        count, words = len(self.messages), dict.fromkeys(message.words for message in self.messages)
        if count == 1:
            subject = gettext("Message %(index)s") % {"index": self.messages[0].state["index"]}
        else:
            subject = ngettext("%(count)s message", "%(count)s messages", count) % {"count": count}
        return f"{subject}: {', '.join(words)}"

    @property
    def line(self) -> str:
        """Return the beginning of the earlier text, or of what was added."""
        if self.messages:
            return plain_text(self.messages[0].text_before or self.messages[0].text_now)
        return plain_text(self.keys[0].before) if self.keys else ""

    @property
    def texts(self) -> tuple[str, str] | None:
        """Return the text of the first message before and now, if there are both and they differ.

        They are without markup, as all texts in lists, unless nothing else differs.
        """
        first = self.messages[0] if self.messages else None
        if first is None or first.before is None or first.now is None or first.text_before == first.text_now:
            return None
        before, now = (without_markup(text) for text in (first.text_before, first.text_now))
        return (first.text_before, first.text_now) if before == now else (before, now)

    @property
    def shown_messages(self) -> list[ChangedMessage]:
        return self.messages[:MAX_SHOWN]

    @property
    def more_messages(self) -> int:
        return len(self.messages) - len(self.shown_messages)


def describe_changes(chat: Chat, changes: Iterable[ChatChange]) -> list[DescribedChange]:
    """Return descriptions of changes that come from ``queries.undoable_changes``, latest first."""
    rows = list(changes)
    written = {pk for change in rows for pk in change.message_ids}
    messages = Message.objects.for_owner(chat.owner_id).filter(chat=chat, pk__in=written).with_swipes()
    now = {message.pk: message_state(message, message.ordered_swipes) for message in messages}
    after = dict(now)
    undone = set(chat.changes.filter(undoes__in=[change.rev for change in rows]).values_list("undoes", flat=True))
    programs = token_names(chat.owner_id)
    described = []
    for change in rows:
        before = {UUID(state["id"]): state for state in change.before.get("messages", ())}
        described.append(
            DescribedChange(
                change=change,
                messages=list(_changed_messages(change, before, after, now)),
                keys=list(_changed_keys(change, chat)),
                is_undone=change.rev in undone,
                program=programs.get(change.writer, ""),
            )
        )
        after |= before
    return described


def _changed_messages(
    change: ChatChange, before: Mapping[UUID, State], after: Mapping[UUID, State], now: Mapping[UUID, State]
) -> Iterator[ChangedMessage]:
    """Yield the messages of a change. ``after`` has their states before the next described change, or now."""
    for pk in change.deleted_ids:
        if pk in before:
            yield ChangedMessage(before[pk], None, gettext("deleted"))
    for pk in change.message_ids:
        earlier, current = before.get(pk), now.get(pk)
        if earlier is None and current is not None:
            yield ChangedMessage(None, current, gettext("inserted"))
        elif earlier is not None:
            yield ChangedMessage(earlier, current, _difference(change, earlier, after.get(pk)))


def _difference(change: ChatChange, before: State, after: State | None) -> str:
    """Return what the change did to a message, or only that it did something if the state after it isn't known."""
    if after is None or after["rev"] != before["rev"] + 1:
        return gettext("changed")
    parts = list(_differences(before, after))
    if not parts and change.reordered:
        return gettext("moved")
    return ", ".join(parts) or gettext("data changed")


def _differences(before: State, after: State) -> Iterator[str]:
    old, new = _active(before), _active(after)
    if len(after["swipes"]) > len(before["swipes"]):
        yield gettext("version added")
    elif len(after["swipes"]) < len(before["swipes"]):
        yield gettext("version deleted")
    elif old["id"] != new["id"]:
        yield gettext("another version shown")
    elif old["mes"] != new["mes"]:
        yield gettext("text changed")
    if before["name"] != after["name"]:
        yield gettext("speaker changed")
    if before["is_system"] != after["is_system"]:
        yield gettext("hidden from the prompt") if after["is_system"] else gettext("shown in the prompt")
    if is_left_out(old["extra"]) != is_left_out(new["extra"]):
        yield gettext("left out of memory") if is_left_out(new["extra"]) else gettext("taken back into memory")
    if ends_scene(old["extra"]) != ends_scene(new["extra"]):
        yield gettext("scene ended") if ends_scene(new["extra"]) else gettext("scene break removed")
    elif namespace_of(old["extra"], RECAP_NAMESPACE) != namespace_of(new["extra"], RECAP_NAMESPACE):
        yield gettext("scene changed")


def _active(state: State) -> Any:
    return state["swipes"][state["swipe_id"]]


def _changed_keys(change: ChatChange, chat: Chat) -> Iterator[ChangedKey]:
    if change.metadata is None:
        return
    before = change.before["metadata"]
    names = {**before, **change.metadata} if change.metadata_replaced else change.metadata
    for name in names:
        yield ChangedKey(KEY_LABELS.get(name, name), _shown(before.get(name)), _shown(chat.metadata.get(name)))


def _shown(value: Any) -> str:
    """Return a value of the metadata as text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
