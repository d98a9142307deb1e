"""The text of a stored recall, without what must not be told any more."""

from django.db.models import Q

from apps.chats.models import Character, Message
from apps.injection.models import Recall
from apps.injection.retrieval.choices import is_current, memories_of_tier
from apps.injection.retrieval.related import MESSAGES_TIER
from apps.injection.slots.blocks import one_line, without_lines
from apps.injection.slots.definitions import LONG_TERM, SESSION
from apps.injection.turns import UserTurn
from apps.injection.witnessing import Viewpoint
from apps.memories.models import Memory


def current_text(turn: UserTurn, character: Character | None, recall: Recall) -> str:
    """Return the text of a stored recall for a prompt of ``character``.

    Leave out entries that were hidden, retired, edited or deleted since, that the character did not witness, and those
    of a scene that has ended unless the turn's text found them. A text that a person edited stays as it is.
    """
    if recall.edited:
        return recall.text
    texts = _current_memories(turn, character, recall)
    messages = _current_messages(turn, character, recall)
    current = {
        item["text"]
        for item in recall.memories
        if item["id"] in messages or texts.get(item["id"]) == one_line(item["text"])
    }
    lines = {one_line(item["text"]) for item in recall.memories if item["text"] not in current}
    return without_lines(recall.text, lines)


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
    """Return the ids of the messages with recalled passages that may still be told."""
    ids = [item["id"] for item in recall.memories if item["tier"] == MESSAGES_TIER]
    rows = Message.objects.for_owner(turn.owner_id).filter(pk__in=ids, chat__deleted_at=None).told()
    view = Viewpoint(turn.chat, character)
    return {str(message.pk) for message in rows.with_swipes() if view.has_heard(message)}


def is_kept_for(turn: UserTurn, character: Character | None, recall: Recall) -> bool:
    """Return whether a text that a person edited may be told to the character.

    In a group, they must know all entries that it was made from: nothing tells which of these a changed line repeats.
    """
    view = Viewpoint(turn.chat, character)
    if view.member is None:
        return True
    ids = {item["id"] for item in recall.memories}
    messages = Message.objects.for_owner(turn.owner_id).filter(pk__in=ids).with_swipes()
    memories = Memory.objects.for_owner(turn.owner_id).filter(pk__in=ids)
    known = [message.pk for message in messages if view.has_heard(message)]
    known += [memory.pk for memory in memories.only("tier", "character", "witnessed_by") if view.knows(memory)]
    return ids == set(map(str, known))
