"""Querysets and managers of chats and messages."""

from typing import Self

from django.db import models
from django.db.models.functions import Left

from apps.common.scoping import OwnedManager, OwnedQuerySet

LAST_TEXT_LENGTH = 400  # characters


def is_told(message: str = "") -> models.Q:
    """Return the condition of messages that may go into a prompt. ``message`` leads to them, such as "message__"."""
    return models.Q((f"{message}is_system", False), (f"{message}withheld", False))


class ChatQuerySet(OwnedQuerySet["Chat"]):  # type: ignore[name-defined]
    def matching(self, words: str) -> Self:
        """Filter chats that contain ``words`` in their title or in a text of a message."""
        texts = self.model._meta.apps.get_model("chats", "Swipe")._base_manager.filter(
            message__chat=models.OuterRef("pk"), owner=models.OuterRef("owner"), mes__icontains=words
        )
        return self.filter(models.Q(title__icontains=words) | models.Exists(texts))

    def with_last_text(self) -> Self:
        """Annotate ``last_text``, the beginning of the last message (None in an empty chat)."""
        apps = self.model._meta.apps
        # One index lookup in another. A join is planned by the statistics of both tables, which an import that has just
        # ended leaves at what they were: after one of 10,000 messages the list took minutes.
        texts = apps.get_model("chats", "Swipe")._base_manager.filter(
            message=models.OuterRef("pk"), position=models.OuterRef("swipe_id")
        )
        last = apps.get_model("chats", "Message")._base_manager.filter(
            chat=models.OuterRef("pk"), index=models.OuterRef("message_count") - 1
        )
        text = models.Subquery(texts.values_list(Left("mes", LAST_TEXT_LENGTH))[:1])
        return self.annotate(last_text=models.Subquery(last.values_list(text)[:1]))


class ChatManager(OwnedManager.from_queryset(ChatQuerySet)):  # type: ignore[misc]
    """Manager of the chats that are not in the bin."""

    condition = models.Q(deleted_at=None)


class BinManager(OwnedManager.from_queryset(ChatQuerySet)):  # type: ignore[misc]
    """Manager of the chats in the bin: deleted, and not yet purged."""

    condition = models.Q(deleted_at__isnull=False)


class PersonaManager(OwnedManager.from_queryset(OwnedQuerySet)):  # type: ignore[misc]
    """Manager of the personas that are not deleted."""

    condition = models.Q(deleted_at=None)


class DeletedPersonaManager(OwnedManager.from_queryset(OwnedQuerySet)):  # type: ignore[misc]
    """Manager of the deleted personas, which can be restored until they are purged."""

    condition = models.Q(deleted_at__isnull=False)


class MessageQuerySet(OwnedQuerySet["Message"]):  # type: ignore[name-defined]
    def remembered(self) -> Self:
        """Filter messages that are neither left out of memory nor withheld by moderators."""
        return self.filter(left_out=False, withheld=False)

    def told(self) -> Self:
        """Filter messages that may go into a prompt."""
        return self.filter(is_told())

    def with_swipes(self) -> Self:
        """Prefetch all swipes, in one more query."""
        swipes = self.model._meta.get_field("swipes").related_model._base_manager.order_by("position")
        return self.prefetch_related(models.Prefetch("swipes", queryset=swipes))
