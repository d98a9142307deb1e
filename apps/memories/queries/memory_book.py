"""The memory book of a chat, or of a character across all chats."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.urls import reverse

from apps.chats.models import Character, Chat
from apps.memories.models import (
    RETIRED,
    Arc,
    Entity,
    Knowledge,
    LedgerEntry,
    Memory,
    Question,
    Relationship,
    RetiredReason,
    VersionedText,
)
from apps.memories.queries import timeline
from apps.memories.queries.arcs import arcs_in, persistent_arcs_of
from apps.memories.queries.entities import entities_in, entities_of
from apps.memories.queries.knowledge import knowledge_in, knowledge_of
from apps.memories.queries.ledger import EntityState, ledger_in
from apps.memories.queries.questions import about, questions_of
from apps.memories.queries.relationships import RelationshipPair, relationships_in, relationships_of
from apps.memories.queries.texts import versions_in, versions_of
from apps.memories.visibility import MemoryQuerySet


@dataclass(frozen=True)
class MemoryBook:
    """The book of ``chat``, with its character if it has one; without ``chat``, the book of ``character``."""

    owner_id: UUID
    chat: Chat | None = None
    character: Character | None = None

    @property
    def subject(self) -> Any:
        """Return the chat or the character that the book is about."""
        return self.chat or self.character

    @property
    def title(self) -> str:
        return self.chat.title if self.chat else self.subject.name

    def url(self, tab: str) -> str:
        """Return the URL of a tab."""
        if self.chat:
            return reverse(f"memories:book-{tab}", kwargs={"chat_id": self.chat.pk})
        return reverse(f"memories:character-{tab}", kwargs={"character_id": self.subject.pk})

    @property
    def timeline_url(self) -> str:
        return self.url("timeline")

    @property
    def remember_url(self) -> str:
        """Return the URL at which a person adds a memory to the book."""
        if self.chat:
            return reverse("memories:remember", kwargs={"chat_id": self.chat.pk})
        return reverse("memories:character-remember", kwargs={"character_id": self.subject.pk})

    def memories(self) -> MemoryQuerySet:
        """Return all memories, superseded and retired ones included, in the order of the story."""
        memories: MemoryQuerySet = Memory.objects.for_owner(self.owner_id).present()
        if self.chat:
            return timeline.order_by_chat(self.chat, memories.relevant_to(self.chat))
        return timeline.order_by_chats(self.subject, memories)

    def active(self, memories: MemoryQuerySet, at: int | None = None) -> MemoryQuerySet:
        """Narrow memories to those that are active now, or were after the message at index ``at`` of the chat."""
        if self.chat is None:
            return memories.active().without_copies(self.owner_id)
        if at is None:
            return memories.active_in(self.chat)
        return memories.valid_at(self.chat, at)

    def sections(self, memories: Sequence[Memory]) -> list[timeline.Section]:
        """Group memories that are in the order of ``memories()``."""
        if self.chat:
            return timeline.sections_of_chat(self.chat, memories)
        return timeline.sections_by_chat(memories)

    def entities(self) -> QuerySet[Entity]:
        return entities_in(self.chat) if self.chat else entities_of(self.subject)

    def arcs(self) -> list[Arc]:
        return arcs_in(self.chat) if self.chat else persistent_arcs_of(self.subject)

    def ledger(self, at: int | None = None) -> list[EntityState]:
        return ledger_in(self.subject, at)

    def knowledge(self, at: int | None = None) -> QuerySet[Knowledge]:
        return knowledge_in(self.chat, at) if self.chat else knowledge_of(self.subject)

    def relationships(self, at: int | None = None) -> list[RelationshipPair]:
        return relationships_in(self.chat, at) if self.chat else relationships_of(self.subject)

    def questions(self) -> QuerySet[Question]:
        return about(questions_of(self.owner_id), self.chat, self.character)

    def texts(self) -> list[VersionedText]:
        """Return all versions of the book's texts; of each text the newest version comes first."""
        if self.chat is None:
            return list(versions_of(self.subject))
        return [version for kind in VersionedText.Kind.values for version in versions_in(self.chat, kind)]

    def retired_by_hand(
        self, model: type[Arc] | type[Knowledge] | type[LedgerEntry] | type[Relationship]
    ) -> QuerySet[Any]:
        """Return the entries of a layer that a person retired and can restore."""
        rows: QuerySet[Any] = model.objects.for_owner(self.owner_id).filter(
            state=RETIRED, retired_reason=RetiredReason.BY_HAND
        )
        if self.chat:
            return rows.filter(chat=self.chat)
        names = model.life.names  # an arc, which names nobody, belongs to the character itself
        return rows.filter(**{f"{names[0]}__character" if names else "character": self.subject})
