"""What a user may store, where the installation limits it: chats, messages and bytes."""

from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Sum
from django.utils.translation import gettext_lazy as _

from apps.accounts.operations import stored_bytes
from apps.chats.models import Chat
from apps.common.problems import Problem, ProblemType
from apps.common.stored_texts import gettext_stored

MEGABYTE = 1_000_000
# With less room left than this, writes of a user wait for each other, so that together they exceed no quota. While a
# large import runs, whose messages nobody else sees yet, a quota can be exceeded by it.
MANY = 10_000


class QuotaExceeded(Problem):
    """A write would exceed a quota. ``quota`` names it, ``limit`` is its size, and ``left`` what is left of it."""

    status = 413
    type = ProblemType.QUOTA_EXCEEDED
    title = _("There is no room left")

    def __init__(self, quota: str, used: int, limit: int) -> None:
        words = {
            "chats": gettext_stored("chats"),
            "messages": gettext_stored("messages"),
            "storage": gettext_stored("bytes of storage"),
        }[quota]
        super().__init__(
            gettext_stored(
                "You can have %(limit)s %(words)s, and have %(used)s. Delete some for good to make room.",
                limit=f"{limit:,}",
                words=words,
                used=f"{used:,}",
            ),
            quota=quota,
            limit=limit,
            left=max(limit - used, 0),
        )


def require_room_for_chat(owner_id: UUID) -> None:
    """Raise QuotaExceeded if the user can have no more chats, those in the bin included."""
    _require_storage(owner_id)
    limit = settings.QUOTA_CHATS
    if limit and chats_of(owner_id) + MANY > limit:
        _wait_for_others(owner_id)
        if (used := chats_of(owner_id)) + 1 > limit:
            raise QuotaExceeded("chats", used, limit)


def require_room_for_messages(chat: Chat, added: int) -> None:
    """Raise QuotaExceeded if the user can't have as many more messages. The chat's number may not be saved yet."""
    _require_storage(chat.owner_id)
    limit = settings.QUOTA_MESSAGES
    if limit and _messages_with(chat) + added + MANY > limit:
        _wait_for_others(chat.owner_id)
        if (used := _messages_with(chat)) + added > limit:
            raise QuotaExceeded("messages", used, limit)


def _require_storage(owner_id: UUID) -> None:
    limit = settings.QUOTA_MEGABYTES * MEGABYTE
    if limit and (used := stored_bytes(owner_id)) > limit:
        raise QuotaExceeded("storage", used, limit)


def chats_of(owner_id: UUID) -> int:
    """Return the number of the user's chats, those in the bin included."""
    return Chat._base_manager.filter(owner_id=owner_id).count()


def messages_of(owner_id: UUID) -> int:
    """Return the number of messages in the user's chats, those in the bin included."""
    return Chat._base_manager.filter(owner_id=owner_id).aggregate(total=Sum("message_count"))["total"] or 0


def _messages_with(chat: Chat) -> int:
    others = Chat._base_manager.filter(owner_id=chat.owner_id).exclude(pk=chat.pk)
    return (others.aggregate(total=Sum("message_count"))["total"] or 0) + chat.message_count


def _wait_for_others(owner_id: UUID) -> None:
    """Wait until no other transaction that is near a quota of the user is open."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"quota of {owner_id}"])
