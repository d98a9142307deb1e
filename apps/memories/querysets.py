"""Chainable reads of memories."""

from collections.abc import Sequence
from typing import Any, Self
from uuid import UUID

from django.db import models

from apps.chats.models import Chat
from apps.common.scoping import OwnedQuerySet
from apps.memories.lineage import relatives


class MemoryQuerySet(OwnedQuerySet["Memory"]):  # type: ignore[name-defined]
    def present(self) -> Self:
        """Without tombstones."""
        return self.filter(deleted_at=None)

    def comparable(self, hashes: Sequence[str], learnt: Sequence[UUID]) -> Self:
        """What candidates are compared with: what is remembered now, what had to make room, what a person deleted,
        and what was ``learnt`` before from the same messages or the same lines of them."""
        before = models.Q(candidate_hash__in=hashes) | models.Q(pk__in=learnt) | models.Q(retired_reason="capacity")
        return self.filter(models.Q(state="active") | models.Q(deleted_at__isnull=False) | before)

    def active(self) -> Self:
        """What is remembered now: neither superseded, retired nor deleted."""
        return self.present().filter(state="active")

    def recallable(self) -> Self:
        """What may come back in a search or a prompt."""
        return self.active().filter(hidden=False)

    def as_of(self, index: int) -> Self:
        """What held when the message at ``index`` of the memories' chat had been said: learnt by then, and not yet
        replaced. What another chat replaced stood to the end of its own."""
        begun = models.Q(valid_from=None) | models.Q(valid_from__index__lte=index)
        replaced = models.Q(valid_to__index__lte=index, valid_to__chat=models.F("chat"))
        return self.filter(begun).exclude(replaced)

    def known_in(self, chat: Chat) -> Self:
        """What bears on a chat: everything that came from it, what it took over as a branch, and its character's
        long-term memories, without those of other branches of the same story."""
        mine = models.Q(chat=chat) | models.Q(pk__in=self._inherited(chat))
        if chat.character_id is not None:
            elsewhere = models.Q(tier="long_term", character_id=chat.character_id)
            mine |= elsewhere & ~models.Q(chat__in=relatives(chat))
        return self.filter(mine)

    def told_in(self, chat: Chat) -> Self:
        """What a chat told itself: what came from it, and what it took over as a branch."""
        return self.filter(models.Q(chat=chat) | models.Q(pk__in=self._inherited(chat)))

    def standing_in(self, chat: Chat) -> Self:
        """What of that is remembered now: a branch has its own word on what it took over."""
        standing = models.Q(pk__in=self._inherited(chat).filter(state="active"))
        own = models.Q(state="active") & ~models.Q(pk__in=self._inherited(chat))
        return self.known_in(chat).present().filter(standing | own)

    def _inherited(self, chat: Chat) -> models.QuerySet[models.Model, Any]:
        return self._related("inheritances").order_by().filter(chat=chat).values("memory_id")

    def with_history(self) -> Self:
        """With all that a page or a document shows: sources, entities, what it replaced and what replaced it."""
        sources = models.Prefetch("sources", self._related("sources").select_related("message__chat"))
        older = models.Prefetch("supersedes", self._related("supersedes").select_related("valid_to"))
        return self.select_related("superseded_by").prefetch_related(sources, older, "entities")

    def _related(self, name: str) -> models.QuerySet[models.Model]:
        """The rows behind a reverse relation, which the rows of this queryset scope."""
        return self.model._meta.get_field(name).related_model._base_manager.order_by("pk")
