"""What people do with the layers beside memories. What they write or correct, no run changes or takes back."""

from typing import Any

from django.db import transaction
from django.db.models import Q

from apps.chats.models import Character, Chat, Message
from apps.common import clock
from apps.common.problems import Conflict, Invalid
from apps.memories.lineage import relatives
from apps.memories.models import Arc, Entity, Knowledge, LedgerEntry, Memory, Relationship, Scene, VersionedText
from apps.memories.operations.layers import BY_HAND, clear_field, set_field, write_digest
from apps.memories.operations.remembering import entity_named


def edit_row(row: Any, *, editor: str, **changes: Any) -> Any:
    """Correct fields of an arc, a scene, an entry of ledger or knowledge: it overwrites, and counts the version."""
    for name, value in changes.items():
        setattr(row, name, value)
    row.edited_by = editor
    row.version += 1
    row.save(update_fields=[*changes, "edited_by", "version", "updated_at"])
    return row


def retire_row(row: Any, *, editor: str) -> Any:
    """Take an entry out; ``restore_row`` brings it back as it was."""
    if row.state == "retired":
        return row
    return edit_row(row, editor=editor, retired_reason=f"{BY_HAND}:{row.state}", state="retired")


def restore_row(row: Any, *, editor: str) -> Any:
    """Take a ``retire_row`` back; what another entry has taken the place of meanwhile stays out. Raises Conflict."""
    if row.state != "retired":
        return row
    reason, _, state = row.retired_reason.partition(":")
    if reason != BY_HAND or (state == "current" and _is_taken(row)):
        raise Conflict("Something else holds in its place by now.")
    return edit_row(row, editor=editor, state=state, retired_reason="")


def _is_taken(row: Any) -> bool:
    place: dict[str, Any] = {"state": "current"}
    if isinstance(row, LedgerEntry):
        place |= {"chat": row.chat_id, "entity": row.entity_id, "field": row.field}
    elif isinstance(row, Relationship):
        place |= {"chat": row.chat_id, "subject": row.subject_id, "target": row.target_id, "descriptor": row.descriptor}
    rows: Any = type(row).objects.for_owner(row.owner_id)
    return bool(rows.filter(**place).exists())


# Digests


@transaction.atomic
def edit_digest(
    chat: Chat, kind: str, *, editor: str, character: Character | None = None, text: str | None = None, **parts: str
) -> VersionedText:
    """A person's version of a summary, a profile or the canon. A summary still ends where the one before it did."""
    scope: dict[str, Any] = {"chat": chat, "character": character}
    if kind == VersionedText.Kind.CANON and character is not None:
        scope = {"chat": None, "character": character}
    current = (
        VersionedText.objects.for_owner(chat.owner_id)
        .filter(kind=kind, state=VersionedText.State.CURRENT, **scope)
        .first()
    )
    merged = (current.parts if current else {}) | parts
    if kind == VersionedText.Kind.PROFILE:
        names = ("character_state", "world_state", "relationship_matrix")
        text = "\n\n".join(filter(None, (merged.get(name, "") for name in names)))
    return write_digest(
        chat.owner_id,
        kind,
        **scope,
        text=text if text is not None else current.text if current else "",
        parts=merged,
        last=current.source if current else None,
        editor=editor,
    )


def restore_digest(digest: VersionedText, *, editor: str) -> VersionedText:
    """Make an earlier version the current one again, as a new version."""
    with transaction.atomic():
        return write_digest(
            digest.owner_id,
            digest.kind,
            chat=digest.chat,
            character=digest.character,
            text=digest.text,
            parts=digest.parts,
            last=digest.source,
            editor=editor,
        )


# Arcs


def create_arc(chat: Chat, text: str, *, editor: str, persistent: bool = False) -> Arc:
    return Arc.objects.create(
        owner_id=chat.owner_id,
        chat=chat,
        character=chat.character,
        text=text,
        persistent=persistent,
        source=_newest(chat),
        edited_by=editor,
    )


def close_arc(arc: Arc, *, editor: str, summary: str = "") -> Arc:
    """A person says that an arc is resolved."""
    newest = _newest(arc.chat) if arc.chat else None
    return edit_row(
        arc,
        editor=editor,
        state=Arc.State.RESOLVED,
        summary=summary or arc.summary,
        until=newest,
        until_swipe=newest.active_swipe if newest else None,
    )


def reopen_arc(arc: Arc, *, editor: str) -> Arc:
    return edit_row(arc, editor=editor, state=Arc.State.OPEN, until=None, until_swipe=None, retired_reason="")


# The state ledger, knowledge, relationships


@transaction.atomic
def set_state(chat: Chat, name: str, kind: str, field: str, value: str | None, *, editor: str) -> Entity:
    """Give a field of somebody or something its value from now on; None clears it."""
    entity = entity_named(chat, name, kind)
    newest = _newest(chat)
    if value is None:
        clear_field(chat, entity, field, newest)
        rows = LedgerEntry.objects.for_owner(chat.owner_id).filter(chat=chat, entity=entity, field=field)
        rows.filter(state=LedgerEntry.State.CLEARED).update(retired_reason=BY_HAND)
    else:
        set_field(chat, entity, field, value, newest, edited_by=editor)
    return entity


@transaction.atomic
def create_knowledge(chat: Chat, kind: str, subject: str, text: str, *, editor: str, target: str = "") -> Knowledge:
    """Raises Invalid where somebody else than one who hides has a target."""
    if target and kind != Knowledge.Kind.HIDING:
        raise Invalid.at("/target", "Only what is hidden is hidden from somebody.")
    return Knowledge.objects.create(
        owner_id=chat.owner_id,
        chat=chat,
        kind=kind,
        subject=entity_named(chat, subject, Entity.Kind.CHARACTER),
        target=entity_named(chat, target, Entity.Kind.CHARACTER) if target else None,
        text=text,
        source=_newest(chat),
        edited_by=editor,
    )


@transaction.atomic
def set_relationship(
    chat: Chat, subject: str, target: str, word: str, magnitude: str | None, *, editor: str
) -> Relationship | None:
    """Say a word of how one stands to another, or, without a magnitude, take it away. Raises Invalid."""
    one, other = (entity_named(chat, name, Entity.Kind.CHARACTER) for name in (subject, target))
    if one == other:
        raise Invalid.at("/target", "It must be somebody else.")
    rows = Relationship.objects.for_owner(chat.owner_id).filter(subject=one, target=other, descriptor=word)
    rows = rows.exclude(chat__in=relatives(chat))
    newest = _newest(chat)
    state = Relationship.State.REPLACED if magnitude else Relationship.State.REMOVED
    rows.filter(state=Relationship.State.CURRENT).update(
        state=state, until=newest, retired_reason=BY_HAND, updated_at=clock.now()
    )
    if magnitude is None:
        return None
    return Relationship.objects.create(
        owner_id=chat.owner_id,
        chat=chat,
        subject=one,
        target=other,
        descriptor=word,
        magnitude=magnitude,
        source=newest,
        edited_by=editor,
    )


# Entities


@transaction.atomic
def edit_entity(entity: Entity, **changes: Any) -> Entity:
    """Change name, kind or aliases; the old name becomes an alias. Raises Invalid where the name is another's."""
    if "name" in changes and changes["name"].casefold() != entity.name.casefold():
        taken = Entity.objects.for_owner(entity.owner_id).filter(
            character=entity.character_id, chat=entity.chat_id, name__iexact=changes["name"]
        )
        if taken.exists():
            raise Invalid.at("/name", "Another entity has this name. Merge the two.")
        changes.setdefault("aliases", [*entity.aliases, entity.name])
    for name, value in changes.items():
        setattr(entity, name, value)
    entity.save(update_fields=list(changes))
    return entity


@transaction.atomic
def merge_entities(entity: Entity, into: Entity) -> Entity:
    """Everything told of one is told of the other from now on; its name becomes an alias. Raises Invalid."""
    if entity.pk == into.pk or (entity.character_id, entity.chat_id) != (into.character_id, into.chat_id):
        raise Invalid.at("/into", "It must be another entity of the same registry.")
    links = Memory.entities.through.objects
    having = links.filter(entity_id=into.pk).values("memory_id")
    links.filter(entity_id=entity.pk).exclude(memory_id__in=having).update(entity_id=into.pk)
    _move_ledger(entity, into)
    Knowledge.objects.for_owner(entity.owner_id).filter(subject=entity).update(subject=into)
    Knowledge.objects.for_owner(entity.owner_id).filter(target=entity).update(target=into)
    _move_relationships(entity, into)
    into.aliases = list(dict.fromkeys([*into.aliases, entity.name, *entity.aliases]))
    into.kind = entity.kind if into.kind == Entity.Kind.UNKNOWN else into.kind
    into.save(update_fields=["aliases", "kind"])
    entity.delete()
    return into


def _move_ledger(entity: Entity, into: Entity) -> None:
    """Where both have a current value, the newer one holds."""
    for row in LedgerEntry.objects.for_owner(entity.owner_id).filter(entity=entity).order_by("pk"):
        row.entity = into
        if row.state == LedgerEntry.State.CURRENT and _is_taken(row):
            row.state = LedgerEntry.State.REPLACED
        row.save(update_fields=["entity", "state", "updated_at"])


def _move_relationships(entity: Entity, into: Entity) -> None:
    """What one thought of the other is no relationship: they are the same, and a person said so."""
    rows = Relationship.objects.for_owner(entity.owner_id).filter(Q(subject=entity) | Q(target=entity))
    for row in rows.order_by("pk"):
        if into.pk in (row.subject_id, row.target_id):
            row.delete()
            continue
        row.subject = into if row.subject_id == entity.pk else row.subject
        row.target = into if row.target_id == entity.pk else row.target
        if row.state == Relationship.State.CURRENT and _is_taken(row):
            row.state = Relationship.State.REPLACED
        row.save(update_fields=["subject", "target", "state", "updated_at"])


# Scenes that were found


def dismiss_scene(scene: Scene, *, editor: str) -> Scene:
    """No scene ends there; it is not found again."""
    return edit_row(scene, editor=editor, state=Scene.State.DISMISSED)


def _newest(chat: Chat) -> Message | None:
    return Message.objects.for_owner(chat.owner_id).filter(chat=chat).with_swipes().order_by("-index").first()
