"""Canon: settled facts about a character, written from resolved arcs and long-term memories."""

import re
from collections.abc import Sequence
from functools import partial
from itertools import zip_longest

from django.utils.translation import gettext_lazy as _

from apps.chats.models import Message
from apps.extraction.parsers.free_text import parse_free_text, truncate
from apps.extraction.parsers.text_cleanup import clean_reply, is_none, strip_fences, strip_html
from apps.extraction.prompts.rendering import default_template
from apps.extraction.prompts.task import Task
from apps.extraction.steps.context import NO_OUTCOME, Context, StageOutcome, Window
from apps.extraction.steps.texts import backs_off, is_members_turn, tellable, text_outcome
from apps.extraction.steps.turns import fitting, messages_between
from apps.extraction.tier import Tier
from apps.llm.tokens import count_tokens
from apps.memories.models import Arc, Memory, VersionedText
from apps.memories.operations.texts import NewVersion
from apps.memories.queries.arcs import resolved_arcs_of
from apps.memories.queries.memories import active_memories
from apps.memories.queries.texts import current_version, is_outdated

MAX_TEXT = 6000  # characters
MIN_IMPORTANCE = 2
LABELS = ("Who", "What happened", "Where things stand")
_LABEL = re.compile(
    r"^[ \t>]*(?:#{1,6}[ \t]+|[-*•][ \t]+|\d[.)][ \t]+)?[*_]{0,3}"
    rf"(?P<label>{'|'.join(LABELS)})"
    r"[*_]{0,3}[ \t]*(?:[:：][*_]{0,3}|$)",
    re.IGNORECASE | re.MULTILINE,
)


def run(context: Context, window: Window) -> StageOutcome:
    """Rewrite the canon if the run resolved an arc, what it came from has changed, or the user requested it.

    A person's edit is kept unless the user requests a new canon.
    """
    arcs = [arc for arc in resolved_arcs_of(context.chat, context.character) if arc.summary]
    current = current_version(context.chat, VersionedText.Kind.CANON, context.character)
    is_due = _is_due(context, arcs, current) and is_members_turn(context, VersionedText.Kind.CANON)
    if (not context.is_requested and not is_due) or backs_off(context, "canon"):
        return NO_OUTCOME
    budget = context.token_budget / 2  # for each of arcs and memories
    summaries = fitting(tellable(context, _summaries(context, arcs))[::-1], budget, count_tokens)[::-1]
    rows = active_memories(context.chat, Memory.Tier.LONG_TERM, context.character_id)
    rows = rows.filter(importance__gte=MIN_IMPORTANCE, hidden=False).order_by("-pinned", "-importance", "-pk")
    memories = fitting(tellable(context, rows.values_list("text", flat=True)), budget, count_tokens)
    if not summaries and not memories:
        return NO_OUTCOME
    subject = context.character.name if context.character else context.chat.title
    material = {"subject": subject, "arcs": summaries, "memories": memories}
    labels = labels_in(context.ask.templates.get("canon") or default_template("canon"))
    reply = context.ask("canon", material, is_usable=partial(is_canon, labels=labels))
    text = context.attributed(parse_canon(reply, labels, MAX_TEXT), material)
    last = next(iter(messages_between(context.chat, 0, context.last_index, limit=1)), None)
    if not text:
        return StageOutcome(unused=["The reply contained no text."])

    return text_outcome(
        context,
        VersionedText.Kind.CANON,
        current,
        NewVersion(text, last=last, made_at=context.step_began),
        counted_as="canon",
        character=context.character,
    )


def _is_due(context: Context, arcs: Sequence[Arc], current: VersionedText | None) -> bool:
    """Return whether an arc was resolved, or what the canon came from has changed, since it was written."""
    if current is None:
        return bool(arcs)
    if current.edited_by:
        return False
    resolved_since = any(arc.updated_at > current.created_at for arc in arcs)
    return resolved_since or is_outdated(current, context.chat, context.character)


def _summaries(context: Context, arcs: Sequence[Arc]) -> list[str]:
    """Return the summaries of arcs; for a group's member, of those of the chat whose source they witnessed."""
    rows = list(arcs)
    if context.witness is None:
        return [arc.summary for arc in rows]
    sources = Message.objects.for_owner(context.owner_id).with_swipes().in_bulk([arc.source_id for arc in rows])
    here = {number: arc for number, arc in enumerate(rows) if arc.chat_id == context.chat.pk}
    told = {number: sources[arc.source_id] for number, arc in here.items() if arc.source_id}
    witnessed = context.witnessed(told)
    return [arc.summary for number, arc in enumerate(rows) if number in witnessed or number not in here]


def labels_in(template: str) -> list[str]:
    """Return the labels that a prompt asks for: one that a user wrote may ask for another form."""
    written = {match["label"].casefold() for match in _LABEL.finditer(template)}
    return [label for label in LABELS if label.casefold() in written]


def parse_canon(reply: str, labels: Sequence[str], max_chars: int) -> str:
    """Return the labelled paragraphs of a reply, each label's first one; "" if there are none.

    Without ``labels`` the whole text is returned.
    """
    if not labels:
        return parse_free_text(reply, max_chars)
    text = strip_fences(strip_html(clean_reply(reply)))
    paragraphs: dict[str, str] = {}
    matches = list(_LABEL.finditer(text))
    for match, following in zip_longest(matches, matches[1:]):
        section = text[match.end() : following.start() if following else None]
        paragraph = parse_free_text(section, max_chars).partition("\n\n")[0]
        if paragraph:
            paragraphs.setdefault(match["label"].casefold(), paragraph)
    written = [f"{label}: {paragraphs[label.casefold()]}" for label in LABELS if label.casefold() in paragraphs]
    return truncate("\n\n".join(written), max_chars)


def is_canon(reply: str, labels: Sequence[str]) -> bool:
    """Return whether a reply has a paragraph with one of the labels, or says that there is nothing to tell."""
    return is_none(reply) or bool(parse_canon(reply, labels, len(reply)))


CANON = Task(
    "canon", _("A character's history in three paragraphs."), ("memories",), ("subject", "arcs"), max_tokens=600
)
TIER = Tier("canon", run, (CANON,), per_member=True)
