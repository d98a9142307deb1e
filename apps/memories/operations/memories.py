"""Create, edit, delete and restore memories, and link them to what they come from."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Func, Value
from django.utils import timezone
from django.utils.translation import gettext

from apps.chats.models import Character, Chat, Message
from apps.common.problems import Conflict, Invalid
from apps.common.scoping import OWN_NAMESPACE, Owner, owner_id_of
from apps.llm.backends.selection import vectors_if_available
from apps.memories.models import JournalEntry, Memory, MemorySource
from apps.memories.signals import memories_written, tombstones_changed
from apps.memories.trigger_words import after_rewriting
from apps.memories.witnesses import participants_of, witnessed_by_all_of
from apps.text.lexemes import Lexemes

MAX_TEXT_LENGTH = 4000  # characters of a memory
DATA = ("metadata", "tags", "expires_at")  # columns that say nothing about the text
Vector = tuple[Any, str]  # of a text, with the model that computed it
BATCH_SIZE = 500  # rows of a statement
MAX_FORMER_TEXTS = 5  # of a memory that a person corrected again and again


@dataclass(frozen=True)
class NewMemory:
    """A memory that a person wrote. Without ``character``, it belongs to the chat's character.

    In a group, only those who witnessed all of ``sources`` know it. Its namespace is by default that of the chat or the
    character. ``source_instance`` is the program that a person wrote it in.
    """

    text: str
    tier: str
    kind: str
    importance: int = 2
    chat: Chat | None = None
    character: Character | None = None
    sources: Sequence[Message] = ()
    source_instance: str = ""
    namespace: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: Sequence[str] = ()
    expires_at: datetime | None = None


@transaction.atomic
def create_memory(owner: Owner, new: NewMemory, *, editor: str, vector: Vector | None = None) -> Memory:
    """Create a memory. ``vector`` is that of its text, if it was computed before.

    Raise Invalid if chat, character or sources are not of its namespace.
    """
    chat, sources = new.chat, new.sources
    said_here = chat is not None and all(message.chat_id == chat.pk for message in sources)
    memory = Memory(
        owner_id=owner_id_of(owner),
        namespace=_namespace_of(owner, new),
        chat=chat,
        character=new.character or (chat.character if chat else None),
        tier=new.tier,
        kind=new.kind,
        importance=new.importance,
        confidence=1.0,
        edited_by=editor,
        source_instance=new.source_instance,
        valid_from=latest_message(sources),
        witnessed_by=witnessed_by_all_of(sources, participants_of(chat)) if chat and sources and said_here else [],
        metadata=dict(new.metadata),
        tags=list(new.tags),
        expires_at=new.expires_at,
    )
    set_text(memory, new.text, vector)
    memory.save()
    link_sources(memory.owner_id, memory.pk, sources)
    memories_written.send(Memory, owner_id=memory.owner_id, ids=[memory.pk])
    return memory


@dataclass(frozen=True)
class AddedMemory:
    """A memory to be added with others: an unsaved row, the messages that it comes from, and the entities it names."""

    memory: Memory
    sources: Sequence[Message] = ()
    entity_ids: Collection[UUID] = ()


def add_memories(added: Sequence[AddedMemory]) -> None:
    """Store memories that were read in a document, which may be thousands. Their vectors are left to a job."""
    if not added:
        return
    rows = [one.memory for one in added]
    for row in rows:  # what ``save`` sets, which is not called for many
        row.set_story()
        row.set_namespace()
        row.lexemes = Lexemes(row.text)
    Memory.objects.bulk_create(rows, batch_size=BATCH_SIZE)
    memories_written.send(Memory, owner_id=rows[0].owner_id, ids=[row.pk for row in rows], created=True)
    named = Memory.entities.through
    named.objects.bulk_create(
        (named(memory_id=one.memory.pk, entity_id=pk) for one in added for pk in one.entity_ids), batch_size=BATCH_SIZE
    )
    MemorySource.objects.bulk_create(
        (source for one in added for source in _links(one.memory.owner_id, one.memory.pk, one.sources)),
        batch_size=BATCH_SIZE,
    )


def _namespace_of(owner: Owner, new: NewMemory) -> str:
    """Return the namespace of a memory: the given one, else that of its chat and character. Raise Invalid."""
    namespace = new.namespace
    for name, row in (("chat", new.chat), ("character", new.character)):
        if row is not None:
            namespace = row.namespace if namespace is None else namespace
            if row.namespace != namespace:
                raise Invalid.at(f"/{name}", gettext("It is of another namespace."))
    namespace = OWN_NAMESPACE if namespace is None else namespace
    others = Message.objects.for_owner(owner).exclude(chat__namespace=namespace)
    if new.sources and others.filter(pk__in=[message.pk for message in new.sources]).exists():
        raise Invalid.at("/source_messages", gettext("It is of another namespace."))
    return namespace


def edit_memory(memory: Memory, *, editor: str, vector: Vector | None = None, **changes: Any) -> Memory:
    """Set text, kind, importance, pinned or hidden as a person's correction, or DATA, and increment the version.

    Only these columns are saved, since a run may have changed other columns in the meantime.
    """
    if memory.withheld and changes.get("hidden") is False:
        raise Conflict(gettext("Moderators have hidden this. You can answer their decision in the settings."))
    corrects = not set(changes) <= set(DATA)  # else it stays as it was said, and may still be read again
    changed = [*changes, *(["edited_by"] if corrects else []), "version", "updated_at"]
    if "text" in changes:
        correct_text(memory, changes.pop("text"), vector)
        changed += ["former_texts", "triggers", "lexemes", "embedding", "embedding_model"]
    for name, value in changes.items():
        setattr(memory, name, value)
    memory.edited_by = editor if corrects else memory.edited_by
    memory.version = F("version") + 1
    memory.save(update_fields=changed)
    memory.refresh_from_db(fields=["version"])
    if "embedding" in changed:
        memories_written.send(Memory, owner_id=memory.owner_id, ids=[memory.pk])
    return memory


def correct_text(memory: Memory, text: str, vector: Vector | None = None) -> None:
    """Set the text that a person puts in the place of a memory's, as ``set_text`` does, and the former texts.

    What is said later is compared with these too, so that a corrected statement is not learnt again.
    """
    memory.former_texts = _former_texts(memory, text)
    set_text(memory, text, vector)


def _former_texts(memory: Memory, text: str) -> list[str]:
    """Return the texts that a person replaces by ``text``. A return to one of them takes the later ones back."""
    former = list(memory.former_texts)
    if text in former:
        return former[: former.index(text)]
    return [*former, memory.text][-MAX_FORMER_TEXTS:] if text != memory.text else former


def set_text(memory: Memory | JournalEntry, text: str, vector: Vector | None = None) -> None:
    """Set the text of a memory or an entry, its lexemes, and its embedding if a model is available. Save nothing.

    A memory is recalled by the words of its new text, no longer by those that only the former one had.
    """
    if isinstance(memory, Memory):
        memory.triggers = list(after_rewriting(memory.triggers, memory.text, text))
    memory.text = text
    memory.lexemes = Lexemes(text)
    memory.embedding, memory.embedding_model = vector or vectors_of(memory.owner_id, [text])[0]


def vectors_of(owner: Owner, texts: Sequence[str]) -> list[Vector]:
    """Return the vector of each text with its model: None and "" without one. Call it before rows are locked."""
    vectors, model = vectors_if_available(owner, texts)
    return [(vector, model) for vector in ([None] * len(texts) if vectors is None else vectors)]


def delete_memory(memory: Memory) -> None:
    """Make a memory a tombstone, which keeps the same statement from being learnt again."""
    memory.deleted_at = memory.deleted_at or timezone.now()
    memory.save(update_fields=["deleted_at", "updated_at"])
    tombstones_changed.send(Memory, owner_id=memory.owner_id)


def restore_memory(memory: Memory) -> None:
    """Undo ``delete_memory``."""
    memory.deleted_at = None
    memory.save(update_fields=["deleted_at", "updated_at"])
    tombstones_changed.send(Memory, owner_id=memory.owner_id)


def link_sources(owner_id: UUID, memory_id: UUID, messages: Iterable[Message]) -> None:
    """Link a memory to its source messages. An existing link is no longer marked as lost."""
    MemorySource.objects.bulk_create(
        _links(owner_id, memory_id, messages),
        update_conflicts=True,
        unique_fields=["memory", "swipe"],
        update_fields=["lost"],
    )


def _links(owner_id: UUID, memory_id: UUID, messages: Iterable[Message]) -> list[MemorySource]:
    return [
        MemorySource(owner_id=owner_id, memory_id=memory_id, message=message, swipe=message.active_swipe)
        for message in {message.pk: message for message in messages}.values()
    ]


def instances_of(messages: Iterable[Message]) -> list[str]:
    """Return the instances that wrote the shown texts of messages, in the order of the messages, each once."""
    ordered = sorted(messages, key=lambda message: message.index)
    return list(dict.fromkeys(name for message in ordered if (name := message.active_swipe.instance)))


def add_instances(owner: Owner, memory_id: UUID, names: Collection[str]) -> None:
    """Add instances to those that take part in a memory."""
    for name in names:
        memories = Memory.objects.for_owner(owner).filter(pk=memory_id)
        memories.exclude(participating_instances__contains=[name]).update(
            participating_instances=Func(F("participating_instances"), Value(name), function="array_append")
        )


def latest_message(messages: Iterable[Message | None]) -> Message | None:
    """Return the message with the highest index, ignoring None; None if there is none."""
    return max(filter(None, messages), key=lambda message: message.index, default=None)
