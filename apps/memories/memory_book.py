"""The memory book: of one chat, or of a character over all chats."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import reverse

from apps.chats.models import Character, Chat
from apps.memories import entities, queries, timeline
from apps.memories.models import Arc, Knowledge, LedgerEntry, Memory, Relationship, VersionedText
from apps.memories.operations.layers import BY_HAND
from apps.memories.queries import EntityState, KnowledgeMatrix, Pair


@dataclass(frozen=True)
class Book:
    """Of ``chat``, whose ``character`` it may be; without a chat, of the character."""

    owner_id: UUID
    chat: Chat | None = None
    character: Character | None = None

    @property
    def subject(self) -> Any:
        """The chat or the character that the book is of."""
        return self.chat or self.character

    @property
    def title(self) -> str:
        return self.chat.title if self.chat else self.subject.name

    def url(self, tab: str) -> str:
        if self.chat:
            return reverse(f"memories:book-{tab}", kwargs={"chat_id": self.chat.pk})
        return reverse(f"memories:character-{tab}", kwargs={"character_id": self.subject.pk})

    def memories(self) -> Any:
        """All that is or was remembered, in the order of the story."""
        mine = Memory.objects.for_owner(self.owner_id).present()
        return timeline.along(self.chat, mine.known_in(self.chat)) if self.chat else timeline.across(self.subject, mine)

    def standing(self, memories: Any, at: int | None = None) -> Any:
        """Those of the memories that hold; with ``at``, that held when the message at that index had been said."""
        if self.chat is None:
            return memories.active()
        if at is None:
            return memories.standing_in(self.chat)
        return memories.told_in(self.chat).as_of(at).exclude(state=Memory.State.RETIRED)

    def stretches(self, memories: Any) -> list[timeline.Stretch]:
        if self.chat:
            return timeline.stretches_of_chat(self.chat, memories)
        return timeline.stretches_of_character(memories)

    def entities(self) -> Any:
        return entities.entities_in(self.chat) if self.chat else entities.entities_of(self.subject)

    def arcs(self) -> Any:
        return queries.arcs_in(self.chat) if self.chat else queries.arcs_of(self.subject)

    def ledger(self, at: int | None = None) -> list[EntityState]:
        return queries.ledger_in(self.subject, at)

    def knowledge(self, at: int | None = None) -> KnowledgeMatrix:
        rows = queries.knowledge_in(self.chat, at) if self.chat else queries.knowledge_of(self.subject)
        return queries.knowledge_matrix(rows)

    def relationships(self, at: int | None = None) -> list[Pair]:
        return queries.relationships_in(self.chat, at) if self.chat else queries.relationships_of(self.subject)

    def digests(self) -> list[VersionedText]:
        """All versions of its texts, newest first."""
        if self.chat is None:
            return list(queries.digests_of_character(self.subject))
        return [digest for kind in VersionedText.Kind.values for digest in queries.digests_of(self.chat, kind)]

    def taken_out(self, model: type[Arc] | type[Knowledge] | type[LedgerEntry] | type[Relationship]) -> Any:
        """What a person took out of a layer, and may bring back."""
        rows: Any = model.objects.for_owner(self.owner_id).filter(state="retired", retired_reason__startswith=BY_HAND)
        if self.chat:
            return rows.filter(chat=self.chat)
        who = {"character": self.subject} if model is Arc else {"subject__character": self.subject}
        return rows.filter(**who)
