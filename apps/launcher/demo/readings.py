"""What a model reads in the demo's stories: threads, states, who knows what, attitudes, and who is who.

It is kept in ``readings.json`` and takes the place of what the built-in reader guesses, so that the demo's derived
pages are right and need no model.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.extraction.models import ExtractionRun
from apps.llm.backends.selection import vectors_if_available
from apps.memories.candidates import Descriptor, KnowledgeLine, RelationshipLine, StateLine
from apps.memories.models import Arc, Entity, Knowledge, LedgerEntry, Relationship
from apps.memories.operations.arcs import open_arc, resolve_arc
from apps.memories.operations.entities import get_or_create_entity, move_references
from apps.memories.operations.knowledge import write_knowledge
from apps.memories.operations.ledger import write_states
from apps.memories.operations.relationships import write_relationships
from apps.memories.queries.guesses import BUILTIN, marked_names

FILE = Path(__file__).parent / "readings.json"
BACKEND = "recorded"
MODEL = gettext_noop("a model, whose reading comes with the demo")
LAYERS = (Arc, LedgerEntry, Knowledge, Relationship)

Messages = Mapping[int, Message]


@transaction.atomic
def write_reading(owner: User, chat: Chat, title: str) -> bool:
    """Write the reading of a story in place of the guesses about it.

    Return False if that was done before, or if messages of the story are gone.
    """
    if chat.runs.filter(backend=BACKEND).exists():
        return False
    document = json.loads(FILE.read_text(encoding="utf-8"))
    reading = document["stories"][title]
    messages = {message.index: message for message in Message.objects.for_owner(owner).filter(chat=chat).with_swipes()}
    if any(row["at"] not in messages for rows in reading.values() for row in rows):
        return False
    for model in LAYERS:
        rows = model.objects.for_owner(owner).filter(chat=chat, edited_by="")
        rows.filter(Q(run=None) | Q(run__backend=BUILTIN)).delete()
    run = _make_run(owner, chat, messages)
    _settle_names(owner, chat, document["names"])
    _write_arcs(chat, reading["arcs"], messages, run)
    lines = [(_state_line(document["names"], row), messages[row["at"]]) for row in reading["ledger"]]
    write_states(chat, lines, run.pk)
    _write_knowledge(owner, chat, reading["knowledge"], messages, run)
    write_relationships(chat, None, list(_relationship_lines(reading["relationships"], messages)), run.pk)
    return True


def _make_run(owner: User, chat: Chat, messages: Messages) -> ExtractionRun:
    now, indexes = timezone.now(), sorted(messages)
    return ExtractionRun.objects.create(
        owner=owner,
        chat=chat,
        state=ExtractionRun.State.SUCCEEDED,
        backend=BACKEND,
        model=MODEL,
        tiers=["arcs", "ledger", "epistemic"],
        first=messages[indexes[0]],
        last=messages[indexes[-1]],
        started_at=now,
        finished_at=now,
    )


def _settle_names(owner: User, chat: Chat, names: Mapping[str, Any]) -> None:
    """Make one entity of each person's names, with its kind. Delete what only the built-in reader takes for a name."""
    registry = Entity.objects.for_owner(owner).filter(character=chat.character)
    kept = []
    for name, (kind, *aliases) in names.items():
        entity = get_or_create_entity(chat, name)
        for other in registry.filter(name__in=aliases).exclude(pk=entity.pk):
            move_references(other, entity)
        Entity.objects.for_owner(owner).filter(pk=entity.pk).update(name=name, kind=kind, aliases=aliases)
        kept.append(entity.pk)
    for entity in marked_names(owner.pk, registry.exclude(pk__in=kept)):
        if entity.is_guess:
            entity.delete()


def _write_arcs(chat: Chat, rows: list[dict[str, Any]], messages: Messages, run: ExtractionRun) -> None:
    vectors, model = vectors_if_available(chat.owner_id, [row["text"] for row in rows])
    for number, row in enumerate(rows):
        vector = None if vectors is None else vectors[number]
        arc = open_arc(chat, row["text"], messages[row["at"]], vector=vector, model=model, run_id=run.pk)
        if "until" in row:
            resolve_arc(arc, messages[row["until"]], row["outcome"])


def _state_line(names: Mapping[str, Any], row: Mapping[str, Any]) -> StateLine:
    fields = {name: value for name, value in row["set"].items() if value}
    cleared = tuple(name for name, value in row["set"].items() if not value)
    return StateLine(row["of"], names[row["of"]][0], fields, cleared)


def _write_knowledge(
    owner: User, chat: Chat, rows: list[dict[str, Any]], messages: Messages, run: ExtractionRun
) -> None:
    """Write entries in the order of the story, and end those that no longer hold."""
    for row in rows:
        line = KnowledgeLine(row["kind"], row["of"], row.get("from", ""), row["text"])
        write_knowledge(chat, [(line, messages[row["at"]])], [], run.pk)
        if "until" in row:
            written = Knowledge.objects.for_owner(owner).filter(chat=chat, text=row["text"], kind=row["kind"])
            ended = [(entry, messages[row["until"]]) for entry in written]
            write_knowledge(chat, [], ended, run.pk)


def _relationship_lines(rows: list[dict[str, Any]], messages: Messages) -> Iterator[tuple[RelationshipLine, Message]]:
    for row in rows:
        added = tuple(Descriptor(word, magnitude) for word, magnitude in row.get("add", {}).items())
        yield RelationshipLine(row["of"], row["to"], added, tuple(row.get("remove", ()))), messages[row["at"]]
