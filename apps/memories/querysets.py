"""The queryset of memories."""

from collections.abc import Sequence
from typing import Any, Self
from uuid import UUID

from django.db import models

from apps.chats.models import Chat
from apps.common.scoping import OwnedQuerySet
from apps.memories.lineage import relatives


class MemoryQuerySet(OwnedQuerySet["Memory"]):  # type: ignore[name-defined]
    def present(self) -> Self:
        """Exclude tombstones."""
        return self.filter(deleted_at=None)

    def active(self) -> Self:
        """Exclude superseded, retired and deleted memories."""
        return self.present().filter(state="active")

    def comparable(self, hashes: Sequence[str], learnt: Sequence[UUID]) -> Self:
        """Return the memories that new candidates are compared with.

        These are active memories, tombstones, memories retired for capacity, those made from the same lines
        (``hashes``), and those with the ids ``learnt``, which were learnt from the same messages before.
        """
        before = models.Q(candidate_hash__in=hashes) | models.Q(pk__in=learnt) | models.Q(retired_reason="capacity")
        return self.filter(models.Q(state="active") | models.Q(deleted_at__isnull=False) | before)

    def valid_at(self, index: int) -> Self:
        """Return what was valid after the message at ``index`` of the memories' own chat.

        A memory that was superseded by another chat stayed valid to the end of its own chat.
        """
        begun = models.Q(valid_from=None) | models.Q(valid_from__index__lte=index)
        replaced = models.Q(valid_to__index__lte=index, valid_to__chat=models.F("chat"))
        return self.filter(begun).exclude(replaced)

    def learnt_in(self, chat: Chat) -> Self:
        """Return what was learnt in the chat itself, or inherited by it as a branch."""
        return self.filter(models.Q(chat=chat) | models.Q(pk__in=self._inherited(chat)))

    def relevant_to(self, chat: Chat) -> Self:
        """Return what was learnt in the chat, and its character's long-term memories from other stories.

        Memories of other branches of the same story are left out.
        """
        mine = models.Q(chat=chat) | models.Q(pk__in=self._inherited(chat))
        if chat.character_id is not None:
            elsewhere = models.Q(tier="long_term", character_id=chat.character_id)
            mine |= elsewhere & ~models.Q(chat__in=relatives(chat))
        return self.filter(mine)

    def active_in(self, chat: Chat) -> Self:
        """Return what is relevant to the chat and active in it. For inherited memories the branch's state counts."""
        inherited = models.Q(pk__in=self._inherited(chat).filter(state="active"))
        own = models.Q(state="active") & ~models.Q(pk__in=self._inherited(chat))
        return self.relevant_to(chat).present().filter(inherited | own)

    def _inherited(self, chat: Chat) -> models.QuerySet[models.Model, Any]:
        return self._related("inheritances").order_by().filter(chat=chat).values("memory_id")

    def with_history(self) -> Self:
        """Prefetch everything that a page or a reply shows: sources, entities, predecessors and successor."""
        sources = models.Prefetch("sources", self._related("sources").select_related("message__chat"))
        older = models.Prefetch("supersedes", self._related("supersedes").select_related("valid_to"))
        return self.select_related("superseded_by").prefetch_related(sources, older, "entities")

    def _related(self, name: str) -> models.QuerySet[models.Model]:
        """Return the rows of a reverse relation unscoped; joining them to this queryset scopes them."""
        return self.model._meta.get_field(name).related_model._base_manager.order_by("pk")
