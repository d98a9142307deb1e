"""Write layers that were found in a document: arcs, scenes, texts, who knows what, states and relationships."""

import datetime as dt
from dataclasses import replace
from typing import Any

from django.db.models import Q

from apps.chats.models import Character, Chat, Message
from apps.exchange.memories.reading.found import Found, FoundArc, FoundMemory, FoundScene, FoundText
from apps.exchange.memories.writing.memories import write_memories
from apps.exchange.memories.writing.target import ImportTarget
from apps.memories.models import Arc, Entity, Knowledge, LedgerEntry, Memory, Relationship, VersionedText
from apps.memories.operations.arcs import add_arc
from apps.memories.operations.knowledge import add_knowledge
from apps.memories.operations.layer_entries import newest_message
from apps.memories.operations.ledger import set_field
from apps.memories.operations.relationships import add_relationship
from apps.memories.operations.scenes import Recap, write_scene
from apps.memories.operations.texts import NewVersion, write_canon, write_version
from apps.memories.queries.texts import current_version


def write_layers(found: Found, target: ImportTarget) -> None:
    """Write all layers. Without a chat, only those that belong to a character; the others become warnings."""
    _write_arcs(found, target)
    _write_relationships(found, target)
    for text in found.texts:
        _write_text(text, found, target)
    if target.chat is None:
        if found.knowledge or found.states:
            found.warn("Who knows what, and states, belong to a chat. They were not read.")
        return
    _write_knowledge(found, target, target.chat)
    _write_states(found, target, target.chat)
    _write_scenes(found.scenes, target, target.chat)


def _write_arcs(found: Found, target: ImportTarget) -> None:
    messages = target.messages(arc.span for arc in found.arcs)
    rows = Arc.objects.for_owner(target.owner_id)
    mine = Q(chat=target.chat) if target.chat else Q(character=target.character)
    if target.chat and target.character:
        mine |= Q(character=target.character, persistent=True)
    known = set(rows.filter(mine).values_list("text", flat=True))
    arcs: dict[str, FoundArc] = {}
    for arc in found.arcs:
        if arc.text not in known:
            arcs[arc.text] = _joined(arcs[arc.text], arc) if arc.text in arcs else arc
    for arc in arcs.values():
        source = messages.get(arc.span[1]) if arc.span else None
        add_arc(
            target.owner_id,
            arc.text,
            chat=target.chat,
            character=target.character,
            source=source,
            state=Arc.State.RESOLVED if arc.resolved else Arc.State.OPEN,
            summary=arc.summary,
            persistent=arc.persistent,
        )
    target.written["arcs"] += len(arcs)


def _joined(arc: FoundArc, summary: FoundArc) -> FoundArc:
    """Return an arc with what its summary tells, which comes after it: the arc itself says whether it is resolved."""
    return replace(
        summary, resolved=arc.resolved, persistent=arc.persistent or summary.persistent, span=summary.span or arc.span
    )


def _write_relationships(found: Found, target: ImportTarget) -> None:
    for line in found.relationships:
        subject = target.registry.get(line.subject, Entity.Kind.CHARACTER)
        other = target.registry.get(line.target, Entity.Kind.CHARACTER)
        if subject == other:
            continue
        rows = Relationship.objects.for_owner(target.owner_id).filter(chat=target.chat, subject=subject, target=other)
        known = set(rows.values_list("descriptor", flat=True))
        for descriptor in {descriptor.word: descriptor for descriptor in line.added}.values():
            if descriptor.word not in known:
                add_relationship(target.chat, subject, other, descriptor)
                target.written["relationships"] += 1


def _write_text(text: FoundText, found: Found, target: ImportTarget) -> None:
    """Write a summary, a profile or a canon where the chat or the character has none yet."""
    character = target.character if text.kind == VersionedText.Kind.CANON else None
    if text.kind == VersionedText.Kind.PROFILE:
        character = _member(text.name, target)
        if character is None:
            found.warn(f"The profile of “{text.name[:80]}” was not read: there is no such character in the chat.")
            return
    if target.chat is None:
        _write_canon(text, found, target)
    elif version := current_version(target.chat, text.kind, character):
        _warn_of_another(text, version, found)
    else:
        last = target.messages([(text.last, text.last)]).get(text.last) if text.last is not None else None
        new = NewVersion(text.text, text.parts, last or newest_message(target.chat))
        write_version(target.chat, text.kind, new, character=character, editor=target.program)
        target.written["texts"] += 1


def _write_canon(text: FoundText, found: Found, target: ImportTarget) -> None:
    """Write the canon of a character that has none. Other texts belong to a chat."""
    if text.kind != VersionedText.Kind.CANON:
        found.warn("A summary belongs to a chat and was not read.")
        return
    if target.character is None:
        return
    rows = VersionedText.objects.for_owner(target.owner_id).filter(kind=text.kind, character=target.character)
    if version := rows.filter(state=VersionedText.State.CURRENT).first():
        _warn_of_another(text, version, found)
    else:
        write_canon(target.character, text.text, editor=target.program)
        target.written["texts"] += 1


def _warn_of_another(text: FoundText, version: VersionedText, found: Found) -> None:
    if text.text != version.text:
        found.warn(f"A {text.kind} was not read: there is one already.")


def _member(name: str, target: ImportTarget) -> Character | None:
    """Return the chat's character or the member of its group with this name."""
    members = [target.character] if target.character else []
    if target.chat:
        rows = target.chat.participants.filter(character__isnull=False).select_related("character")
        members += [row.character for row in rows if row.character]
    return next((member for member in members if member and member.name.casefold() == name.casefold()), None)


def _write_knowledge(found: Found, target: ImportTarget, chat: Chat) -> None:
    messages = target.messages(span for _, span in found.knowledge)
    rows = Knowledge.objects.for_owner(target.owner_id).filter(chat=chat)
    known: set[tuple[Any, ...]] = set(rows.values_list("kind", "subject", "target", "text"))
    for line, span in found.knowledge:
        subject = target.registry.get(line.subject, Entity.Kind.CHARACTER)
        other = target.registry.get(line.target, Entity.Kind.CHARACTER) if line.target else None
        key = (line.kind, subject.pk, other.pk if other else None, line.text)
        if key in known:
            continue
        known.add(key)
        source = messages.get(span[1]) if span else None
        add_knowledge(chat, line, subject, other, source=source)
        target.written["knowledge"] += 1


def _write_states(found: Found, target: ImportTarget, chat: Chat) -> None:
    """Write the fields that have no value yet."""
    newest = newest_message(chat)
    rows = LedgerEntry.objects.for_owner(target.owner_id).filter(chat=chat)
    known = set(rows.values_list("entity", "field"))
    for state in found.states:
        entity = target.registry.get(state.name, state.type)
        for field, value in state.fields.items():
            if (entity.pk, field) not in known:
                known.add((entity.pk, field))
                target.written["states"] += set_field(chat, entity, field, value, newest)


def _write_scenes(scenes: list[FoundScene], target: ImportTarget, chat: Chat) -> None:
    """Place each recap at the last message before its time; one without a place becomes a memory of its chat."""
    unplaced, start = [], 0
    for scene in sorted(scenes, key=lambda scene: scene.ended_at):
        last = _last_before(chat, scene.ended_at) if scene.ended_at else None
        opening = _message_at(chat, last.index + 1) if last else None
        if last is None or opening is None or last.index < start:
            unplaced.append(FoundMemory(Memory.Tier.SESSION, Memory.Kind.SCENE, scene.recap))
            continue
        recap = Recap(scene.recap, last.index + 1 - start)
        target.written["scenes"] += write_scene(
            chat, last, opening, reason=f"Imported from {target.program}", recap=recap, run_id=None
        )
        start = last.index + 1
    write_memories(unplaced, target)


def _last_before(chat: Chat, milliseconds: int) -> Message | None:
    try:
        time = dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC)
    except (OverflowError, OSError, ValueError):
        return None
    rows = Message.objects.for_owner(chat.owner_id).filter(chat=chat, sent_at__lte=time).with_swipes()
    found: Message | None = rows.order_by("-index").first()
    return found


def _message_at(chat: Chat, index: int) -> Message | None:
    found: Message | None = Message.objects.for_owner(chat.owner_id).filter(chat=chat, index=index).first()
    return found
