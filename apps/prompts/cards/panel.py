"""The recall card, shown under a user message on the chat page."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.template.loader import get_template
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from apps.chats.models import Message
from apps.chats.pages.markup import plain_text
from apps.common.scoping import Owner
from apps.memories.models import Memory
from apps.prompts.cards.bodies import CardBody
from apps.prompts.models import Recall
from apps.prompts.queries import awaits_recall, is_outdated, recalls_of_messages
from apps.prompts.slots.entries import MESSAGES_TIER

TURN_LENGTH = 300  # characters
RECALL_EXPECTED_WITHIN = dt.timedelta(minutes=1)  # maximum age of a message with a pending card


@dataclass(frozen=True)
class Card:
    """A recall for display. ``body`` is None while the card is closed."""

    recall: Recall
    body: CardBody | None = None

    @property
    def outdated(self) -> bool:
        """Return whether the turn's text has changed since the recall was made."""
        return is_outdated(self.recall)

    @property
    def turn(self) -> str:
        """Return the beginning of the turn's text, in one line."""
        return plain_text(self.recall.sent_message.mes, TURN_LENGTH)

    @property
    def always_included(self) -> int:
        """Return the number of entries that no search for the turn's text found."""
        return sum(not item["triggered"] for item in self.recall.memories)

    @property
    def lore_count(self) -> str:
        """Return the number of lorebook entries in the last prompt, in words."""
        count = len(self.recall.lore)
        words = ngettext("%(count)s lorebook entry", "%(count)s lorebook entries", count) % {"count": count}
        return words if count else ""

    @property
    def lookup_count(self) -> str:
        """Return how often the model looked something up itself, in words."""
        count = len(self.recall.lookups)
        words = ngettext("%(count)s lookup by the model", "%(count)s lookups by the model", count) % {"count": count}
        return words if count else ""

    @property
    def title(self) -> str:
        """Return a title such as "Recalled 4 memories and 2 messages"."""
        if not self.recall.text:
            return gettext("Nothing recalled")
        found = [item.get("tier") == MESSAGES_TIER for item in self.recall.memories if item["triggered"]]
        messages, memories = sum(found), len(found) - sum(found)
        counts = []
        if memories:
            counts.append(ngettext("%(count)s memory", "%(count)s memories", memories) % {"count": memories})
        if messages:
            counts.append(ngettext("%(count)s message", "%(count)s messages", messages) % {"count": messages})
        if not counts:
            return gettext("Nothing new recalled")
        return gettext("Recalled %(found)s") % {"found": gettext(" and ").join(counts)}


def empty_card(recall: Recall) -> str:
    """Return the card of a turn for which nothing was recalled as HTML. It says why."""
    remembered = Memory.objects.for_owner(recall.owner_id).relevant_to(recall.chat).active_in(recall.chat).exists()
    why = (
        gettext("nothing that is remembered fits this message.")
        if remembered
        else gettext("nothing is remembered yet. Loci reads the chat as it grows.")
    )
    return get_template("prompts/_nothing.html").render({"recall": recall, "why": why})


def recall_panel(owner: Owner, messages: Iterable[Message]) -> dict[UUID, str]:
    """Return the closed cards of messages as HTML, by message id, in one query. A card that is opened loads its body.

    If the newest user message was sent just now and has no recall, it gets a pending card, which loads the recall. Its
    card says so if nothing was recalled; those of earlier messages are left out then.
    """
    turns = {message.pk: message for message in messages if message.is_user}
    recalls = {recall.sent_message.pk: recall for recall in recalls_of_messages(owner, turns.values())}
    template = get_template("prompts/_card.html")
    html_by_message = {
        pk: template.render({"card": Card(recall)})
        for pk, recall in recalls.items()
        if recall.text or recall.lore or recall.lookups
    }
    newest = max(turns.values(), key=lambda message: message.index, default=None)
    if newest and newest.pk in recalls and newest.pk not in html_by_message:
        html_by_message[newest.pk] = empty_card(recalls[newest.pk])
    is_recent = newest and timezone.now() - newest.created_at < RECALL_EXPECTED_WITHIN
    if newest and newest.pk not in recalls and is_recent and awaits_recall(newest):
        html_by_message[newest.pk] = get_template("prompts/_pending.html").render({"message": newest})
    return html_by_message
