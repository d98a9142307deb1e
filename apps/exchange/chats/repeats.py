"""Recognise a chat that is imported again, by the same character and first messages, and update the stored one."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any
from uuid import UUID

from django.db.models import F
from django.db.models.functions import MD5

from apps.chats.locking import Guard, lock_chat
from apps.chats.models import Chat, Message, Swipe
from apps.chats.operations import Patch, append_messages, patch_messages
from apps.chats.queries import MAX_WINDOW
from apps.exchange.chats.carried_lorebooks import move_lorebooks

# A common beginning of this many messages, or of the shorter chat, that includes a message of the user: chats with the
# same character may all begin with its greeting.
MIN_COMMON = 4

# The speaker, whether it is the user, and a hash of the active text: messages with equal keys are the same.
Key = tuple[str, bool, str]


@dataclass(frozen=True)
class Match:
    """A stored chat that a file holds again, and the numbers of messages that an update would add and remove."""

    chat: str
    title: str
    added: int
    removed: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def find_original(copy: Chat, excluded: Collection[UUID]) -> Chat | None:
    """Return the stored chat with the longest common beginning with ``copy``, a chat that was just imported, if any.

    ``excluded`` are the ids of the other chats of the same file.
    """
    beginning = _keys(copy, MIN_COMMON)
    if not beginning:
        return None
    chats = Chat.objects.for_owner(copy.owner_id).in_namespace(copy.namespace)
    chats = chats.filter(character=copy.character_id, is_group=copy.is_group)
    candidates = _with_message(chats, copy.owner_id, 0, beginning[0]).exclude(pk__in=[copy.pk, *excluded])
    found = [chat for chat in candidates.order_by("-last_used") if _begin_equally(_keys(chat, MIN_COMMON), beginning)]
    if len(found) < 2:
        return next(iter(found), None)
    keys = _keys(copy)
    return max(found, key=lambda chat: _common_length(_keys(chat), keys))


def find_branch(parent: Chat, copy: Chat, kept: int, excluded: Collection[UUID]) -> Chat | None:
    """Return the stored branch of ``parent`` that ``copy`` continues or repeats, if any.

    Both have more in common than the ``kept`` messages of the parent. ``excluded`` are the ids of the other branches of
    the same file.
    """
    keys = _keys(copy)
    if len(keys) <= kept:
        return None
    branches = Chat.objects.for_owner(copy.owner_id).filter(parent=parent).exclude(pk__in=[copy.pk, *excluded])
    candidates = _with_message(branches, copy.owner_id, kept, keys[kept]).order_by("pk")
    found = [(_common_length(_keys(branch), keys), branch) for branch in candidates]
    length, original = max(found, key=lambda item: item[0], default=(0, None))
    return original if length > kept else None


def _with_message(chats: Any, owner_id: UUID, index: int, key: Key) -> Any:
    """Return those of the chats whose message at an index has a key."""
    name, is_user, text = key
    messages = _active_swipes(owner_id).filter(message__index=index, message__name=name, message__is_user=is_user)
    return chats.filter(pk__in=messages.filter(text_hash=text).values("message__chat"))


def match_of(original: Chat, copy: Chat) -> Match:
    """Compare a stored chat with the imported copy of it."""
    changes = _changes(_keys(original), _keys(copy))
    return Match(
        str(original.pk),
        original.title,
        added=sum(new_end - new_start for _, _, new_start, new_end in changes),
        removed=sum(old_end - old_start for old_start, old_end, _, _ in changes),
    )


def update_original(original: Chat, copy: Chat) -> Chat:
    """Make the messages of a stored chat those of the copy, and delete the copy.

    Messages with the same speaker and text stay as they are, with their swipes, data and memories. Others are deleted
    and inserted by ordinary writes, which can be undone.
    """
    chat = lock_chat(original.owner_id, original.pk)
    ids = list(_messages(chat).order_by("index").values_list("pk", flat=True))
    patches: list[Patch] = []
    appended = copy.message_count
    for old_start, old_end, new_start, new_end in _changes(_keys(chat), _keys(copy)):
        patches += [Patch(id=message_id, delete=True) for message_id in ids[old_start:old_end]]
        if old_end < len(ids):
            patches += [
                Patch(id=ids[old_end], insert_before=message.parsed()) for message in _range(copy, new_start, new_end)
            ]
        else:
            appended = new_start
    if patches:
        patch_messages(chat.owner_id, chat.pk, patches, Guard(optional=True))
    for start in range(appended, copy.message_count, MAX_WINDOW):
        batch = _range(copy, start, min(start + MAX_WINDOW, copy.message_count))
        append_messages(chat.owner_id, chat.pk, [message.parsed() for message in batch])
    move_lorebooks(copy, chat)
    copy.delete()
    chat.refresh_from_db()
    return chat


def _messages(chat: Chat) -> Any:
    return Message.objects.for_owner(chat.owner_id).filter(chat=chat)


def _range(chat: Chat, start: int, end: int) -> Iterable[Message]:
    """Return the messages with the indexes from ``start`` to ``end``, exclusive."""
    return list(_messages(chat).filter(index__gte=start, index__lt=end).with_swipes().order_by("index"))


def _active_swipes(owner_id: UUID) -> Any:
    """Return the active swipes of all messages, with ``text_hash``."""
    swipes = Swipe.objects.for_owner(owner_id).filter(position=F("message__swipe_id"))
    return swipes.annotate(text_hash=MD5("mes"))


def _keys(chat: Chat, limit: int | None = None) -> list[Key]:
    """Return the keys of a chat's messages, or of the first ``limit``."""
    swipes = _active_swipes(chat.owner_id).filter(message__chat=chat).order_by("message__index")
    return list(swipes.values_list("message__name", "message__is_user", "text_hash")[:limit])


def _begin_equally(old: Sequence[Key], new: Sequence[Key]) -> bool:
    """Return whether the beginnings of two chats, of up to MIN_COMMON messages, are the same."""
    length = min(len(old), len(new))
    return old[:length] == new[:length] and any(is_user for _, is_user, _ in new[:length])


def _common_length(old: Sequence[Key], new: Sequence[Key]) -> int:
    """Return the number of messages that two chats have in common at their beginning."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(old), len(new)))


def _changes(old: Sequence[Key], new: Sequence[Key]) -> list[tuple[int, int, int, int]]:
    """Return which slices of ``old`` to replace by which of ``new``, as (old start, old end, new start, new end)."""
    common = _common_length(old, new)
    opcodes = SequenceMatcher(None, old[common:], new[common:]).get_opcodes()
    return [
        (old_start + common, old_end + common, new_start + common, new_end + common)
        for tag, old_start, old_end, new_start, new_end in opcodes
        if tag != "equal"
    ]
