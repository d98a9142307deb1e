"""Write who knows, suspects, believes, is unaware of or hides what."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext

from apps.chats.models import Chat, Message
from apps.common.problems import Invalid
from apps.memories.candidates import KnowledgeLine
from apps.memories.models import Entity, Knowledge, RetiredReason
from apps.memories.operations.endings import end_elsewhere
from apps.memories.operations.entities import get_or_create_entity
from apps.memories.operations.layer_entries import line_hash, newest_message, source_fields, until_fields
from apps.memories.queries.endings import endings_seen_in, has_ended


def write_knowledge(
    chat: Chat,
    lines: Iterable[tuple[KnowledgeLine, Message]],
    outdated: Iterable[tuple[Knowledge, Message]],
    run_id: UUID | None,
) -> int:
    """Write the lines of a run, and end the entries ``outdated`` at their messages. Return how many entries changed.

    An entry of another story ends for those chats alone that see the chat.
    """
    rows = Knowledge.objects.for_owner(chat.owner_id)
    changed = 0
    for entry, message in outdated:
        if entry.chat_id != chat.pk:
            changed += end_elsewhere(chat, entry, Knowledge.State.RETIRED, message)
        else:
            changed += rows.filter(pk=entry.pk, state=Knowledge.State.ACTIVE).update(
                state=Knowledge.State.RETIRED, retired_reason=RetiredReason.OUTDATED, **until_fields(message)
            )
    for line, message in lines:
        subject = get_or_create_entity(chat, line.subject, Entity.Kind.CHARACTER)
        target = get_or_create_entity(chat, line.target, Entity.Kind.CHARACTER) if line.target else None
        fields = {"chat": chat, "kind": line.kind, "subject": subject, "target": target, "text": line.text}
        # An entry of this line and message has ended: a run that reads the message again must not restore it.
        ended_here = Q(retired_reason__in=[RetiredReason.OUTDATED, RetiredReason.BY_HAND])
        if rows.filter(ended_here | Q(has_ended(Knowledge, endings_seen_in(chat))), source=message, **fields).exists():
            continue
        _, created = rows.get_or_create(
            run_id=run_id,
            line_hash=line_hash(line.kind, subject.pk, target and target.pk, line.text, message.pk),
            defaults={"owner_id": chat.owner_id, **fields, **source_fields(message)},
        )
        changed += created
    return changed


@transaction.atomic
def create_knowledge(chat: Chat, kind: str, subject: str, text: str, *, editor: str, target: str = "") -> Knowledge:
    """Create an entry that a person wrote. Raise Invalid if ``target`` is given and the kind isn't HIDING."""
    if target and kind != Knowledge.Kind.HIDING:
        raise Invalid.at("/target", gettext("Only knowledge of the kind “hiding” has a target."))
    person = get_or_create_entity(chat, subject, Entity.Kind.CHARACTER)
    other = get_or_create_entity(chat, target, Entity.Kind.CHARACTER) if target else None
    line = KnowledgeLine(kind, subject, target, text)
    return add_knowledge(chat, line, person, other, source=newest_message(chat), edited_by=editor)


def add_knowledge(
    chat: Chat, line: KnowledgeLine, subject: Entity, target: Entity | None, *, source: Message | None, **columns: Any
) -> Knowledge:
    """Create an entry that begins at the message ``source``; without one, nothing tells where it began."""
    return Knowledge.objects.create(
        owner_id=chat.owner_id,
        chat=chat,
        kind=line.kind,
        subject=subject,
        target=target,
        text=line.text,
        **source_fields(source),
        **columns,
    )
