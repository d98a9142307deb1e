"""The recall card: what the page shows under a user's turn."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.template.loader import get_template
from django.urls import reverse
from django.utils import timezone

from apps.chats.models import Message
from apps.chats.pages.markup import plain_text
from apps.common.scoping import Owner
from apps.injection.models import Recall
from apps.injection.queries import is_newest_turn, places_of, recalls_among
from apps.injection.turns import hash_of

LINE = 600  # characters of a memory that a card shows
JUST_SENT = dt.timedelta(minutes=1)  # how long a turn without a recall is thought to get one


@dataclass(frozen=True)
class CardLine:
    """One recalled memory or passage; ``url`` leads to where it was said, where that still exists."""

    kind: str
    text: str
    why: str
    score: float
    url: str


@dataclass(frozen=True)
class Card:
    """``triggered`` are what the turn brought to mind, ``standing`` what the prompt carried anyway.

    ``outdated``: the turn's text has changed since.
    """

    recall: Recall
    triggered: list[CardLine]
    standing: list[CardLine]
    outdated: bool

    @property
    def title(self) -> str:
        """Such as "Recalled 4 memories"."""
        if not self.recall.text:
            return "Nothing recalled"
        count = len(self.triggered)
        return f"Recalled {count} {'memory' if count == 1 else 'memories'}" if count else "Nothing new recalled"


def recall_panel(owner: Owner, messages: Iterable[Message]) -> dict[UUID, str]:
    """The cards of a window of messages, as HTML by message id; two queries for all of them."""
    turns = {message.pk: message for message in messages if message.is_user}
    cards = {card.recall.message_id: card for card in cards_of(owner, recalls_among(owner, turns.values()))}
    template = get_template("injection/_card.html")
    shown = {pk: template.render({"card": card}) for pk, card in cards.items() if card.recall.text}
    newest = max(turns.values(), key=lambda message: message.index, default=None)
    if newest and newest.pk not in cards and _was_just_sent(newest):
        shown[newest.pk] = get_template("injection/_pending.html").render({"message": newest})
    return shown


def _was_just_sent(turn: Message) -> bool:
    """Whether it is the chat's newest turn, and so new that its recall may still be on its way."""
    return timezone.now() - turn.created_at < JUST_SENT and is_newest_turn(turn)


def cards_of(owner: Owner, recalls: Iterable[Recall]) -> list[Card]:
    """Their cards. Each recall must have its message loaded, with the swipes."""
    rows = list(recalls)
    places = places_of(owner, rows)
    return [_card(row, places) for row in rows]


def _card(row: Recall, places: Mapping[str, tuple[UUID, int]]) -> Card:
    return Card(
        recall=row,
        triggered=[_line(item, places) for item in row.memories if item["triggered"]],
        standing=[_line(item, places) for item in row.memories if not item["triggered"]],
        outdated=row.turn_hash != hash_of(row.message.mes),
    )


def _line(item: Mapping[str, Any], places: Mapping[str, tuple[UUID, int]]) -> CardLine:
    place = places.get(item["message"] or "")
    url = f"{reverse('chats:detail', args=[place[0]])}?at={place[1]}" if place else ""
    return CardLine(item["kind"], plain_text(item["text"], LINE), item["why"], item["score"], url)
