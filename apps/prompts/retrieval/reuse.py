"""The entries of a stored recall, without those that must not be told any more."""

from django.db.models import Q

from apps.chats.models import Character, Message
from apps.memories.models import Memory
from apps.memories.quotations import inside, quoted_speaker
from apps.prompts.models import Recall
from apps.prompts.retrieval.excerpts import ELLIPSIS
from apps.prompts.retrieval.known import is_current, memories_of_tier
from apps.prompts.retrieval.service import secrets_of
from apps.prompts.slots.blocks import one_line
from apps.prompts.slots.definitions import LONG_TERM, SESSION, TRIGGERED
from apps.prompts.slots.entries import MESSAGES_TIER, Entry
from apps.prompts.turns import UserTurn
from apps.prompts.witnessing import Viewpoint


def current_entries(turn: UserTurn, character: Character | None, recall: Recall) -> dict[str, list[Entry]]:
    """Return the memories and passages of a stored recall that are still as they were, by slot name.

    They are in the order of the text. Leave out those that were hidden, retired, edited or deleted since, that the
    character did not witness, and those of a scene that has ended unless the turn's text found them. Those that are
    kept from the character are left to ``tellable``.
    """
    texts = _current_memories(turn, character, recall)
    messages = _current_messages(turn, character, recall)
    entries: dict[str, list[Entry]] = {LONG_TERM.name: [], SESSION.name: [], TRIGGERED.name: []}
    documents = [
        (item, -number)  # the best first
        for number, item in enumerate(recall.memories)
        if item["slot"] in entries and (item["id"] in messages or texts.get(item["id"]) == one_line(item["text"]))
    ]
    for item, priority in sorted(documents, key=lambda pair: recall.text.find(one_line(pair[0]["text"]))):
        entries[item["slot"]].append(Entry.from_document(item, priority))
    return entries


def _current_memories(turn: UserTurn, character: Character | None, recall: Recall) -> dict[str, str]:
    """Return the texts of the recalled memories that may still be told, by id."""
    texts: dict[str, str] = {}
    for tier in (LONG_TERM.name, SESSION.name):
        items = [item for item in recall.memories if item["tier"] == tier]
        found = [item["id"] for item in items if item["triggered"]]
        rows = memories_of_tier(turn, tier, character).known_at(turn.chat, turn.index - 1)
        rows = rows.filter(Q(pk__in=found) | is_current(turn), pk__in=[item["id"] for item in items])
        texts |= {str(pk): one_line(text) for pk, text in rows.values_list("pk", "text")}
    return texts


def _current_messages(turn: UserTurn, character: Character | None, recall: Recall) -> set[str]:
    """Return the ids of the messages that still have their recalled passages, and may still be told."""
    passages = {item["id"]: item["text"] for item in recall.memories if item["tier"] == MESSAGES_TIER}
    rows = Message.objects.for_owner(turn.owner_id).filter(pk__in=passages, chat__deleted_at=None, withheld=False)
    view = Viewpoint(turn.chat, character)
    return {
        str(message.pk)
        for message in rows.with_swipes()
        if view.has_heard(message) and _has_passage(message, passages[str(message.pk)])
    }


def _has_passage(message: Message, passage: str) -> bool:
    said = passage.partition(": ")[2] if quoted_speaker(passage) else passage.removeprefix(f"{message.name}: ")
    excerpt = said.strip(f"{ELLIPSIS} “”")
    return inside(excerpt) in one_line(inside(message.mes))


def is_kept_for(turn: UserTurn, character: Character | None, recall: Recall) -> bool:
    """Return whether a text that a person edited may be told to the character.

    In a group, they must know all entries that it was made from, and none may be kept from them: nothing tells which of
    these a changed line repeats.
    """
    if not turn.chat.is_group:
        return True
    view = Viewpoint(turn.chat, character)
    ids = {item["id"] for item in recall.memories}
    messages = Message.objects.for_owner(turn.owner_id).filter(pk__in=ids).with_swipes()
    memories = Memory.objects.for_owner(turn.owner_id).filter(pk__in=ids).values_list("pk", flat=True)
    known = [message.pk for message in messages if view.has_heard(message)]
    known += view.known_of(list(memories))
    secrets = secrets_of(turn, character)
    return ids == set(map(str, known)) and not any(secrets.are_told_by(item["text"]) for item in recall.memories)
