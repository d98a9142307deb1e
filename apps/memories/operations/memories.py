"""Create, edit, delete, restore, supersede and retract single memories."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Func, Q, Value
from django.utils import timezone
from django.utils.translation import gettext

from apps.chats.models import Character, Chat, Message
from apps.common.problems import Conflict, Invalid
from apps.common.scoping import OWN_NAMESPACE, Owner, owner_id_of
from apps.llm.backends import vectors_if_available
from apps.memories.models import Inheritance, JournalEntry, Memory, MemorySource, RetiredReason, Supersession
from apps.memories.signals import memories_changed, memories_written, tombstones_changed
from apps.memories.trigger_words import after_rewriting
from apps.memories.witnesses import participants_of, witnessed_by_all_of
from apps.text.lexemes import Lexemes

MAX_TEXT_LENGTH = 4000  # characters of a memory
DATA = ("metadata", "tags", "expires_at")  # columns that say nothing about the text
Vector = tuple[Any, str]  # of a text, with the model that computed it
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
        memory.former_texts = _former_texts(memory, changes["text"])
        set_text(memory, changes.pop("text"), vector)
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


def supersede(chat: Chat, target: UUID, successor: Memory, reason: str = "", *, keep_pinned: bool = False) -> None:
    """Mark the memory ``target`` as superseded by ``successor``, with an optional RetiredReason.

    In a branch that inherited the target, only its inheritance changes: the parent keeps the memory. A target of
    another story than the successor's is superseded only where the successor is seen. With ``keep_pinned`` a pinned
    memory is not changed.
    """
    fields = {
        "state": Memory.State.SUPERSEDED,
        "retired_reason": reason,
        "superseded_by": successor,
        "valid_to": successor.valid_from,
    }
    own = Memory.objects.for_owner(chat.owner_id).filter(pk=target)
    if keep_pinned and own.filter(pinned=True).exists():
        return
    inherited = Inheritance.objects.for_owner(chat.owner_id).filter(chat=chat, memory=target)
    of_another_story = own.exclude(story=successor.story).exists()
    _link_to_successor(target, successor)
    if inherited.exists() and not of_another_story:
        inherited.exclude(state=Memory.State.SUPERSEDED).update(**fields)
    else:
        own.exclude(state=Memory.State.SUPERSEDED).update(**fields, updated_at=timezone.now())
        memories_changed.send(Memory, owner_id=chat.owner_id, ids=[target])


def undo_supersede(chat: Chat, target: UUID, successor: UUID) -> None:
    """Undo ``supersede`` for a target that ``successor`` superseded in the chat."""
    links = Supersession.objects.for_owner(chat.owner_id)
    links.filter(memory__in=_replaced_with(chat.owner_id, target), successor=successor).delete()
    superseded = {"superseded_by": successor, "state": Memory.State.SUPERSEDED}
    restored = {"superseded_by": None, "state": Memory.State.ACTIVE, "valid_to": None}
    memories = Memory.objects.for_owner(chat.owner_id).filter(pk=target, **superseded)
    if memories.update(**restored, updated_at=timezone.now()):
        memories_changed.send(Memory, owner_id=chat.owner_id, ids=[target])
    Inheritance.objects.for_owner(chat.owner_id).filter(chat=chat, memory=target, **superseded).update(**restored)
    others = list(links.filter(memory=target).values_list("successor_id", flat=True))
    update_superseded_by_another_story(chat.owner_id, others)


def _link_to_successor(target: UUID, successor: Memory) -> None:
    """Link ``successor`` to what it replaces of other stories: the target, and what that had replaced."""
    owner_id = successor.owner_id
    of_other_stories = (
        Memory.with_bin.for_owner(owner_id)
        .filter(pk__in=_replaced_with(owner_id, target))
        .exclude(Q(story=successor.story) | Q(pk=successor.pk))
    )
    links = [Supersession(owner_id=owner_id, memory=memory, successor=successor) for memory in of_other_stories]
    Supersession.objects.bulk_create(links, ignore_conflicts=True)


def _replaced_with(owner_id: UUID, target: UUID) -> set[UUID]:
    """Return the ids of the target and of what it had replaced, which branches may still have active."""
    replaced, level = {target}, {target}
    while level:
        own = Memory.with_bin.for_owner(owner_id).filter(superseded_by__in=level).values_list("pk", flat=True)
        inherited = Inheritance.objects.for_owner(owner_id).filter(superseded_by__in=level)
        linked = Supersession.objects.for_owner(owner_id).filter(successor__in=level)
        level = {*own, *inherited.values_list("memory_id", flat=True), *linked.values_list("memory_id", flat=True)}
        level -= replaced
        replaced |= level
    return replaced


def update_superseded_by_another_story(owner_id: UUID, successors: Collection[UUID]) -> None:
    """Update the rows of memories that any of ``successors``, of another story, replaced, after these have changed.

    A row has the state that the chats of its own story see: superseded if one of its successors is neither retired nor
    in the bin, else active. What its own story superseded or retired stays so.
    """
    links = Supersession.objects.for_owner(owner_id).select_related("successor").order_by("pk")
    replaced = links.filter(successor__in=successors).values("memory")
    for row in Memory.with_bin.for_owner(owner_id).filter(pk__in=replaced).exclude(state=Memory.State.RETIRED):
        all_successors = [link.successor for link in links.filter(memory=row)]
        if row.state == Memory.State.SUPERSEDED and row.superseded_by not in all_successors:
            continue
        seen = [one for one in all_successors if one.state != Memory.State.RETIRED and not one.in_bin]
        row.state = Memory.State.SUPERSEDED if seen else Memory.State.ACTIVE
        if seen and row.superseded_by not in seen:
            row.superseded_by, row.valid_to, row.retired_reason = seen[-1], seen[-1].valid_from, ""
        row.save(update_fields=["state", "superseded_by", "valid_to", "retired_reason", "updated_at"])


def retract_memories(memories: Iterable[Memory], reason: str) -> None:
    """Retire memories with a RetiredReason, and restore the memories that each had superseded.

    These include what the memory's chat had inherited. They become active again or, if the retracted memory has a
    successor that isn't retired, superseded by that one. What a fresh start has set aside stays so.
    """
    for memory in sorted(memories, key=lambda memory: memory.pk):
        set_aside = memory.retired_reason == RetiredReason.FRESH_START
        memory.state, memory.retired_reason = Memory.State.RETIRED, reason
        memory.save(update_fields=["state", "retired_reason", "updated_at"])
        successor = memory.superseded_by
        if successor is not None and successor.story != memory.story:
            successor = None  # the supersessions say where it is seen
        fields: dict[str, Any] = {"state": Memory.State.ACTIVE, "superseded_by": None, "valid_to": None}
        if successor is not None and successor.state != Memory.State.RETIRED:
            fields = {"superseded_by": successor, "valid_to": successor.valid_from}
        elif set_aside:
            fields["state"] = Memory.State.RETIRED
        fields["retired_reason"] = RetiredReason.FRESH_START if fields.get("state") == Memory.State.RETIRED else ""
        superseded = {"superseded_by": memory, "state": Memory.State.SUPERSEDED}
        Memory.objects.for_owner(memory.owner_id).filter(**superseded).update(**fields, updated_at=timezone.now())
        inherited = Inheritance.objects.for_owner(memory.owner_id).filter(chat=memory.chat_id, **superseded)
        inherited.update(**fields)
        update_superseded_by_another_story(memory.owner_id, [memory.pk])


def link_sources(owner_id: UUID, memory_id: UUID, messages: Iterable[Message]) -> None:
    """Link a memory to its source messages. An existing link is no longer marked as lost."""
    MemorySource.objects.bulk_create(
        (
            MemorySource(owner_id=owner_id, memory_id=memory_id, message=message, swipe=message.active_swipe)
            for message in {message.pk: message for message in messages}.values()
        ),
        update_conflicts=True,
        unique_fields=["memory", "swipe"],
        update_fields=["lost"],
    )


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
