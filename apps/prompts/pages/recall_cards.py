"""The recall card, shown under a user message on the chat page; the form that edits its text, and the text's size."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django import forms
from django.template.loader import get_template
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from apps.chats.models import Chat, Message
from apps.chats.pages.markup import plain_text
from apps.chats.queries.replying import reply_context
from apps.common.scoping import Owner
from apps.common.words import Words
from apps.memories.models import Memory
from apps.prompts.filling.budgets import room_in_context
from apps.prompts.filling.plan import slot_plan_for
from apps.prompts.models import Recall
from apps.prompts.pages.recall_bodies import RecallBody
from apps.prompts.queries import awaits_recall, has_later_turn, is_outdated, recalls_of_messages
from apps.prompts.settings.stores import prompt_settings_of
from apps.prompts.slots.blocks import unused_slots
from apps.prompts.slots.definitions import RECALLED
from apps.prompts.slots.entries import MESSAGES_TIER
from apps.prompts.turns import text_hash

MAX_TEXT_LENGTH = 100_000  # characters of an edited text
TURN_LENGTH = 300  # characters
RECALL_EXPECTED_WITHIN = dt.timedelta(minutes=1)  # maximum age of a message with a pending card


@dataclass(frozen=True)
class RecallCard:
    """A recall for display. ``body`` is None while the card is closed."""

    recall: Recall
    body: RecallBody | None = None

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


class RecallForm(forms.Form):
    """Edit the text of a recall."""

    text = forms.CharField(
        label=_("Text in the prompt"),
        label_suffix="",
        max_length=MAX_TEXT_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 10, "class": "recall-text"}),
    )
    # That of the text which the form was made with: another one, made elsewhere meanwhile, is not replaced unseen.
    rev = forms.IntegerField(min_value=1, required=False, widget=forms.HiddenInput)


@dataclass(frozen=True)
class TextSize:
    """The tokens of a text, the budget of a recall, and the most that a prompt has room for.

    ``edited``: a person wrote the text; else it was made for what its prompt had room for. ``unused`` are the labels of
    the blocks that are left out since their slots are switched off.
    """

    tokens: int
    budget: int
    room: int
    unused: list[Words]
    chat_id: UUID
    edited: bool

    @property
    def fits(self) -> bool:
        return self.tokens <= self.room

    @property
    def within_budget(self) -> bool:
        return self.tokens <= self.budget


def empty_card(recall: Recall) -> str:
    """Return the card of the newest turn of a chat if nothing was recalled for it as HTML, else "". It says why.

    A text that a person emptied, one that is outdated, and one that is still to be made say nothing of what fits.
    """
    turn = recall.sent_message
    if recall.text or recall.lore or recall.lookups or recall.edited:
        return ""
    if recall.turn_hash != text_hash(turn.mes) or has_later_turn(turn):
        return ""
    remembered = Memory.objects.for_owner(recall.owner_id).relevant_to(recall.chat).active_in(recall.chat).exists()
    why = (
        gettext("nothing that is remembered fits this message.")
        if remembered
        else gettext("nothing is remembered yet. Loci reads the chat as it grows.")
    )
    return get_template("prompts/_nothing.html").render({"recall": recall, "why": why})


def recall_panel(owner: Owner, messages: Iterable[Message]) -> dict[UUID, str]:
    """Return the closed cards of messages as HTML, by message id, in one query. A card that is opened loads its body.

    If the newest user message of the chat was sent just now and has no recall, it gets a pending card, which loads the
    recall. Its card says so if nothing was recalled, for a few more; those of earlier messages are left out then.
    """
    turns = {message.pk: message for message in messages if message.is_user}
    recalls = {recall.sent_message.pk: recall for recall in recalls_of_messages(owner, turns.values())}
    template = get_template("prompts/_card.html")
    html_by_message = {
        pk: template.render({"card": RecallCard(recall)})
        for pk, recall in recalls.items()
        if recall.text or recall.lore or recall.lookups
    }
    newest = max(turns.values(), key=lambda message: message.index, default=None)
    if newest and newest.pk in recalls and (nothing := empty_card(recalls[newest.pk])):
        html_by_message[newest.pk] = nothing
    is_recent = newest and timezone.now() - newest.created_at < RECALL_EXPECTED_WITHIN
    if newest and newest.pk not in recalls and is_recent and awaits_recall(newest):
        html_by_message[newest.pk] = get_template("prompts/_pending.html").render({"message": newest})
    return html_by_message


def text_size(chat: Chat, recall: Recall, text: str) -> TextSize:
    """Return the size of a text for a recall, for the owner's model. Half of the context is for memory.

    The text that the recall has is as long as its card says.
    """
    context_tokens = reply_context(chat)
    settings = prompt_settings_of(chat)
    plan = slot_plan_for(chat, chat.character, recall.sent_message.mes, settings, context_tokens)
    budgets = plan.budgets_for({})
    budget = sum(budgets[slot.name] for slot in RECALLED if plan.slots[slot.name].enabled)
    room = room_in_context(context_tokens)
    unused = [slot.label for slot in unused_slots(plan.slots, plan.names, text)]
    is_present = text.replace("\r\n", "\n") == recall.text
    tokens = recall.tokens if is_present else plan.count(text)
    return TextSize(tokens, budget, room, unused, chat.pk, recall.edited or not is_present)
