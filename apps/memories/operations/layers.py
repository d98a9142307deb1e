"""Writes what stages of a run have worked out beside memories. To be called in the transaction of the step.

What changes is never overwritten: the old row is closed where the new one begins, so that the history stays.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q

from apps.chats.models import Character, Chat, Message
from apps.common import clock
from apps.memories.candidates import MAGNITUDES, KnowledgeLine, RelationshipLine, StateLine
from apps.memories.lineage import relatives
from apps.memories.models import Arc, Entity, Knowledge, LedgerEntry, Relationship, Scene, VersionedText
from apps.memories.operations.remembering import entity_named

BY_HAND = "by_hand"  # why an entry ended, or went, where it was a person's doing
MAX_DESCRIPTORS = 6  # of one directed pair


def line_hash(*parts: object) -> str:
    """What makes a line the same, so that a run writes it once."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def _from(message: Message) -> dict[str, Any]:
    return {"source": message, "swipe": message.active_swipe}


def _until(message: Message) -> dict[str, Any]:
    return {"until": message, "until_swipe": message.active_swipe, "updated_at": clock.now()}


# Scenes


def write_scene(chat: Chat, last: Message, *, reason: str, recap: str, run_id: UUID | None) -> int:
    """A scene ends with the message ``last``; how many are new. One that a person dismissed stays dismissed."""
    scene, made = Scene.objects.for_owner(chat.owner_id).get_or_create(
        chat=chat,
        source=last,
        defaults={
            "owner_id": chat.owner_id,
            "swipe": last.active_swipe,
            "reason": reason[:200],
            "recap": recap,
            "run_id": run_id,
        },
    )
    if not made and scene.state == Scene.State.RETIRED:
        scene.state, scene.retired_reason, scene.recap, scene.swipe = Scene.State.FOUND, "", recap, last.active_swipe
        scene.save(update_fields=["state", "retired_reason", "recap", "swipe", "updated_at"])
        return 1
    return int(made)


def write_recap(scene: Scene, recap: str) -> None:
    """A scene gets a recap where it has none."""
    mine = Scene.objects.for_owner(scene.owner_id).filter(pk=scene.pk, recap="", edited_by="")
    mine.update(recap=recap, updated_at=clock.now())


# Arcs


def open_arc(
    chat: Chat, text: str, source: Message, *, vector: Any, model: str, run_id: UUID | None, character: Character | None
) -> Arc:
    return Arc.objects.create(
        owner_id=chat.owner_id,
        chat=chat,
        character=character or chat.character,
        text=text,
        embedding=vector,
        embedding_model=model,
        run_id=run_id,
        line_hash=line_hash(text, source.pk),
        **_from(source),
    )


def resolve_arc(arc: Arc, message: Message, summary: str) -> int:
    """Close an arc that is still open; whether it was."""
    mine = Arc.objects.for_owner(arc.owner_id).filter(pk=arc.pk, state=Arc.State.OPEN)
    return mine.update(state=Arc.State.RESOLVED, summary=summary, **_until(message))


def retire_arcs_beyond(chat: Chat, cap: int) -> int:
    """Keep the newest arcs, and those that a person wants to persist; how many had to make room."""
    rows = Arc.objects.for_owner(chat.owner_id).filter(chat=chat, state=Arc.State.OPEN)
    kept = rows.order_by("-persistent", "-pk").values_list("pk", flat=True)
    excess = rows.filter(pk__in=list(kept)[cap:], persistent=False, edited_by="")
    return excess.update(state=Arc.State.RETIRED, retired_reason="capacity", updated_at=clock.now())


# The state ledger


def write_states(chat: Chat, lines: Iterable[tuple[StateLine, Message]], run_id: UUID | None) -> int:
    """Set and clear fields, and leave the others as they are; how many changed."""
    changed = 0
    for line, message in lines:
        entity = entity_named(chat, line.name, line.type)
        for name, value in line.fields.items():
            changed += set_field(chat, entity, name, value, message, run_id=run_id)
        for name in line.cleared:
            changed += clear_field(chat, entity, name, message)
    return changed


def set_field(chat: Chat, entity: Entity, field: str, value: str, message: Message | None, **fields: Any) -> bool:
    """A field has this value from the message on; whether that is news.

    A value from before the current one, or from before the field was cleared, is not; nor is one that the message
    told before.
    """
    current = _current(chat, entity, field)
    if current is not None and current.value.casefold() == value.casefold():
        return False
    if message is not None and _is_old(chat, entity, field, value, message):
        return False
    if current is not None:
        _close(current, LedgerEntry.State.REPLACED, message)
    source = _from(message) if message else {}
    LedgerEntry.objects.create(
        owner_id=chat.owner_id, chat=chat, entity=entity, field=field, value=value, **source, **fields
    )
    return True


def _is_old(chat: Chat, entity: Entity, field: str, value: str, message: Message) -> bool:
    """Whether the message said so before, or a later one has put an end to what it says."""
    rows = LedgerEntry.objects.for_owner(chat.owner_id).filter(chat=chat, entity=entity, field=field)
    by_hand = Q(state=LedgerEntry.State.RETIRED, retired_reason__startswith=BY_HAND)
    standing = ~Q(state=LedgerEntry.State.RETIRED)
    told = Q(source=message, value__iexact=value) & (standing | by_hand)
    later = Q(source__index__gt=message.index) & standing
    return rows.filter(told | later | Q(until__index__gt=message.index)).exists()


def clear_field(chat: Chat, entity: Entity, field: str, message: Message | None) -> bool:
    """What the field said is over; whether it said anything."""
    current = _current(chat, entity, field)
    if current is None or _is_before(message, current.source):
        return False
    _close(current, LedgerEntry.State.CLEARED, message)
    return True


def _current(chat: Chat, entity: Entity, field: str) -> LedgerEntry | None:
    rows = LedgerEntry.objects.for_owner(chat.owner_id).filter(chat=chat, entity=entity, field=field)
    return rows.filter(state=LedgerEntry.State.CURRENT).select_related("source").first()


def _is_before(message: Message | None, other: Message | None) -> bool:
    """Whether a message stands before another one of the same chat."""
    if message is None or other is None or message.chat_id != other.chat_id:
        return False
    return message.index < other.index


def _close(row: LedgerEntry | Relationship, state: str, message: Message | None) -> None:
    row.state, row.until = state, message
    row.until_swipe = message.active_swipe if message else None
    row.save(update_fields=["state", "until", "until_swipe", "updated_at"])


# Who knows what


def write_knowledge(
    chat: Chat,
    lines: Iterable[tuple[KnowledgeLine, Message]],
    retired: Sequence[UUID],
    last: Message,
    run_id: UUID | None,
) -> int:
    """New entries, and an end to those ``retired``; how many changed."""
    changed = Knowledge.objects.for_owner(chat.owner_id).filter(pk__in=retired, state="active").update(
        state=Knowledge.State.RETIRED, retired_reason="outdated", **_until(last)
    )  # fmt: skip
    for line, message in lines:
        subject = entity_named(chat, line.subject, Entity.Kind.CHARACTER)
        target = entity_named(chat, line.target, Entity.Kind.CHARACTER) if line.target else None
        told = Knowledge.objects.for_owner(chat.owner_id).filter(
            chat=chat, kind=line.kind, subject=subject, target=target, text=line.text, source=message
        )
        if told.filter(Q(retired_reason="outdated") | Q(retired_reason__startswith=BY_HAND)).exists():
            continue  # the message said so before, and it is over
        _, made = Knowledge.objects.for_owner(chat.owner_id).get_or_create(
            run_id=run_id,
            line_hash=line_hash(line.kind, subject.pk, target and target.pk, line.text, message.pk),
            defaults={
                "owner_id": chat.owner_id,
                "chat": chat,
                "kind": line.kind,
                "subject": subject,
                "target": target,
                "text": line.text,
                **_from(message),
            },
        )
        changed += made
    return changed


# Relationships


def write_relationships(
    chat: Chat, character: Character | None, lines: Iterable[tuple[RelationshipLine, Message]], run_id: UUID | None
) -> int:
    """Add and take away words for how people stand to each other; how many changed.

    What the message told before, or what later ones have changed since, is no news.
    """
    changed = 0
    for line, message in lines:
        subject = entity_named(chat, line.subject, Entity.Kind.CHARACTER, character)
        target = entity_named(chat, line.target, Entity.Kind.CHARACTER, character)
        if subject == target:
            continue
        current = {row.descriptor: row for row in _words(chat, subject, target)}
        for word in line.removed:
            if word in current and not _is_before(message, current[word].source):
                _close(current.pop(word), Relationship.State.REMOVED, message)
                changed += 1
        for one in line.added:
            changed += _say(chat, subject, target, current.get(one.word), one.word, one.magnitude, message, run_id)
        _keep_strongest(chat, subject, target, message)
    return changed


def _words(chat: Chat, subject: Entity, target: Entity) -> list[Relationship]:
    """The words that hold; those of other branches of the same story are nothing to the chat."""
    rows = Relationship.objects.for_owner(subject.owner_id).filter(subject=subject, target=target, state="current")
    return list(rows.exclude(chat__in=relatives(chat)).select_related("source").order_by("pk"))


def _say(
    chat: Chat,
    subject: Entity,
    target: Entity,
    current: Relationship | None,
    word: str,
    magnitude: str,
    message: Message,
    run_id: UUID | None,
) -> bool:
    if current is not None and (current.magnitude == magnitude or _is_before(message, current.source)):
        return False
    said = Relationship.objects.for_owner(chat.owner_id).filter(subject=subject, target=target, descriptor=word)
    said = said.exclude(chat__in=relatives(chat))
    told = Q(source=message, magnitude=magnitude) & ~Q(state=Relationship.State.RETIRED)
    if said.filter(told | Q(until__chat=chat, until__index__gt=message.index)).exists():
        return False
    if current is not None:
        _close(current, Relationship.State.REPLACED, message)
    Relationship.objects.create(
        owner_id=chat.owner_id,
        chat=chat,
        subject=subject,
        target=target,
        descriptor=word,
        magnitude=magnitude,
        run_id=run_id,
        **_from(message),
    )
    return True


def _keep_strongest(chat: Chat, subject: Entity, target: Entity, message: Message) -> None:
    """The weakest and oldest words make room."""
    words = [row for row in _words(chat, subject, target) if not row.edited_by]
    words.sort(key=lambda row: (MAGNITUDES.index(row.magnitude), row.pk), reverse=True)
    for row in words[MAX_DESCRIPTORS:]:
        row.retired_reason = "capacity"
        row.save(update_fields=["retired_reason"])
        _close(row, Relationship.State.RETIRED, message)


# Digests


def write_digest(
    owner_id: UUID,
    kind: str,
    *,
    chat: Chat | None = None,
    character: Character | None = None,
    text: str = "",
    parts: Mapping[str, Any] | None = None,
    last: Message | None = None,
    run_id: UUID | None = None,
    editor: str = "",
) -> VersionedText:
    """A new version of a text, which becomes the current one."""
    versions = VersionedText.objects.for_owner(owner_id).filter(kind=kind, chat=chat, character=character)
    latest = versions.order_by("-version").first()
    versions.filter(state=VersionedText.State.CURRENT).update(
        state=VersionedText.State.REPLACED, updated_at=clock.now()
    )
    return VersionedText.objects.create(
        owner_id=owner_id,
        kind=kind,
        chat=chat,
        character=character,
        text=text,
        document={"schema_version": VersionedText.SCHEMA_VERSION, **(parts or {})},
        source=last,
        swipe=last.active_swipe if last else None,
        version=latest.version + 1 if latest else 1,
        run_id=run_id,
        edited_by=editor,
    )
