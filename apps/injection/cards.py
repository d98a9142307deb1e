"""The recall card, shown under a user message on the chat page."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import floor
from typing import Any
from uuid import UUID

from django.template.loader import get_template
from django.urls import reverse
from django.utils import timezone

from apps.chats.models import Message
from apps.chats.pages.markup import plain_text
from apps.common.scoping import Owner
from apps.injection.models import Recall
from apps.injection.queries import awaits_recall, recalls_of_messages, source_positions
from apps.injection.slots.allocation import CONTEXT_SHARE
from apps.injection.turns import text_hash
from apps.llm.backends import backend_for
from apps.llm.queries import generation_connection
from apps.llm.tokens import token_counter
from apps.memories.labels import KIND_LABELS

MAX_LINE_LENGTH = 600  # characters; longer memories are cut off
RECALL_EXPECTED_WITHIN = dt.timedelta(minutes=1)  # maximum age of a message with a pending card


@dataclass(frozen=True)
class CardLine:
    """One recalled memory or passage. ``url`` links to its source message; it is empty if that was deleted."""

    kind: str
    text: str
    why: str
    score: float
    url: str


@dataclass(frozen=True)
class Card:
    """A recall for display.

    ``triggered`` are the entries that a search for the turn's text found, ``always_included`` the others.
    ``outdated`` means that the turn's text has changed since the recall was made.
    """

    recall: Recall
    triggered: list[CardLine]
    always_included: list[CardLine]
    outdated: bool

    @property
    def title(self) -> str:
        """Return a title such as "Recalled 4 memories"."""
        if not self.recall.text:
            return "Nothing recalled"
        count = len(self.triggered)
        return f"Recalled {count} {'memory' if count == 1 else 'memories'}" if count else "Nothing new recalled"


@dataclass(frozen=True)
class TextSize:
    """The tokens of a text, and the most that a prompt has room for."""

    tokens: int
    room: int

    @property
    def fits(self) -> bool:
        return self.tokens <= self.room


def text_size(owner: Owner, text: str) -> TextSize:
    """Return the size of an edited recall for the owner's model. Half of the context is for memory."""
    connection = generation_connection(owner)
    count = token_counter(connection.model if connection else "")
    return TextSize(count(text), floor(backend_for(owner).context_tokens * CONTEXT_SHARE))


def recall_panel(owner: Owner, messages: Iterable[Message]) -> dict[UUID, str]:
    """Return the cards of messages as HTML, by message id, in two queries.

    If the newest user message was sent just now and has no recall, it gets a pending card, which loads the recall.
    """
    turns = {message.pk: message for message in messages if message.is_user}
    cards = {card.recall.sent_message.pk: card for card in cards_of(owner, recalls_of_messages(owner, turns.values()))}
    template = get_template("injection/_card.html")
    html_by_message = {pk: template.render({"card": card}) for pk, card in cards.items() if card.recall.text}
    newest = max(turns.values(), key=lambda message: message.index, default=None)
    is_recent = newest and timezone.now() - newest.created_at < RECALL_EXPECTED_WITHIN
    if newest and newest.pk not in cards and is_recent and awaits_recall(newest):
        html_by_message[newest.pk] = get_template("injection/_pending.html").render({"message": newest})
    return html_by_message


def cards_of(owner: Owner, recalls: Iterable[Recall]) -> list[Card]:
    """Return the cards of recalls. Each recall must have its message loaded, with the swipes."""
    loaded = list(recalls)
    positions = source_positions(owner, loaded)
    return [_card(recall, positions) for recall in loaded]


def _card(recall: Recall, positions: Mapping[str, tuple[UUID, int]]) -> Card:
    return Card(
        recall=recall,
        triggered=[_line(item, positions) for item in recall.memories if item["triggered"]],
        always_included=[_line(item, positions) for item in recall.memories if not item["triggered"]],
        outdated=recall.turn_hash != text_hash(recall.sent_message.mes),
    )


def _line(item: Mapping[str, Any], positions: Mapping[str, tuple[UUID, int]]) -> CardLine:
    position = positions.get(item["message"] or "")
    url = f"{reverse('chats:detail', args=[position[0]])}?at={position[1]}" if position else ""
    kind = KIND_LABELS.get(item["kind"], item["kind"])
    return CardLine(kind, plain_text(item["text"], MAX_LINE_LENGTH), item["why"], item["score"], url)
