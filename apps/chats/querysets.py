"""Chainable reads of chats and messages."""

from typing import Self

from django.db import models

from apps.common.scoping import OwnedQuerySet


class ChatQuerySet(OwnedQuerySet["Chat"]):  # type: ignore[name-defined]
    def matching(self, words: str) -> Self:
        """Chats whose title, or the text of one of whose messages, contains ``words``."""
        texts = self.model._meta.apps.get_model("chats", "Swipe")._base_manager.filter(
            message__chat=models.OuterRef("pk"), owner=models.OuterRef("owner"), mes__icontains=words
        )
        return self.filter(models.Q(title__icontains=words) | models.Exists(texts))


class MessageQuerySet(OwnedQuerySet["Message"]):  # type: ignore[name-defined]
    def with_swipes(self) -> Self:
        """With all swipes, in one further query."""
        swipes = self.model._meta.get_field("swipes").related_model._base_manager.order_by("position")
        return self.prefetch_related(models.Prefetch("swipes", queryset=swipes))
