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

    def comparable(self, hashes: Sequence[str], previous_ids: Sequence[UUID]) -> Self:
        """Return the memories that new candidates are compared with.

        These are active memories, tombstones, those made from the same lines (``hashes``), and those from the same
        messages (``previous_ids``).
        """
        also = models.Q(candidate_hash__in=hashes) | models.Q(pk__in=previous_ids)
        return self.filter(models.Q(state="active") | models.Q(deleted_at__isnull=False) | also)

    def valid_at(self, index: int) -> Self:
        """Return memories that were valid after the message at ``index`` of their own chat.

        A memory that was superseded by another chat stayed valid to the end of its own chat.
        """
        has_begun = models.Q(valid_from=None) | models.Q(valid_from__index__lte=index)
        has_ended = models.Q(valid_to__index__lte=index, valid_to__chat=models.F("chat"))
        return self.filter(has_begun).exclude(has_ended)

    def learnt_in(self, chat: Chat) -> Self:
        """Return memories that were learnt in the chat, or that it inherited as a branch."""
        return self.filter(models.Q(chat=chat) | models.Q(pk__in=self._inherited(chat)))

    def relevant_to(self, chat: Chat) -> Self:
        """Return memories that the chat learnt or inherited, and its character's long-term ones from other stories.

        Memories of other branches of the same story are excluded.
        """
        relevant = models.Q(chat=chat) | models.Q(pk__in=self._inherited(chat))
        if chat.character_id is not None:
            of_character = models.Q(tier="long_term", character_id=chat.character_id)
            relevant |= of_character & ~models.Q(chat__in=relatives(chat))
        return self.filter(relevant)

    def active_in(self, chat: Chat) -> Self:
        """Return memories that are relevant to the chat and active in it; inherited ones as the branch has them."""
        inherited = models.Q(pk__in=self._inherited(chat).filter(state="active"))
        own = models.Q(state="active") & ~models.Q(pk__in=self._inherited(chat))
        return self.relevant_to(chat).present().filter(inherited | own)

    def _inherited(self, chat: Chat) -> models.QuerySet[models.Model, Any]:
        return self._related("inheritances").order_by().filter(chat=chat).values("memory_id")

    def with_history(self) -> Self:
        """Prefetch everything that a page or an API response shows: sources, entities, predecessors and successor."""
        sources = models.Prefetch("sources", self._related("sources").select_related("message__chat"))
        predecessors = models.Prefetch("supersedes", self._related("supersedes").select_related("valid_to"))
        return self.select_related("superseded_by").prefetch_related(sources, predecessors, "entities")

    def _related(self, name: str) -> models.QuerySet[models.Model]:
        """Return the rows of a reverse relation unscoped; joining them to this queryset scopes them."""
        return self.model._meta.get_field(name).related_model._base_manager.order_by("pk")
