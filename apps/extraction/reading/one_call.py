"""Read a window for all tiers with one call of the model, and ask about all that is uncertain or due with a second."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from django.utils.translation import gettext_lazy as _

from apps.chats.models import Character, Message
from apps.common.text_languages import ENGLISH_NAMES, MAX_CHARACTERS, language_of
from apps.english.words import content_words
from apps.extraction.memories import consolidation, plain
from apps.extraction.memories.lines import candidates_from
from apps.extraction.memories.proposals import Proposals, compare_with_known, outcome_of_proposals
from apps.extraction.progress import window_key
from apps.extraction.prompts import examples
from apps.extraction.prompts.rendering import join_blocks
from apps.extraction.prompts.task import Task, any_line_of
from apps.extraction.reading import review
from apps.extraction.reading.registry import forms_of, forms_with_lines, tiers_with_forms
from apps.extraction.reading.reply_parts import DividedReply, divide_reply, is_reading, parse_reading
from apps.extraction.steps.context import Context, StageOutcome, Window, turns_material
from apps.extraction.steps.turns import fitting, messages_between
from apps.extraction.tier import Form
from apps.extraction.tiers import continuity, long_term
from apps.llm.backends.selection import vectors_if_available
from apps.llm.tokens import count_tokens
from apps.memories.models import Memory
from apps.memories.queries.memories import active_memories
from apps.memories.witnesses import learners

TOKENS_PER_MESSAGE, MIN_TOKENS, MAX_TOKENS = 150, 1500, 8000  # of the reply
# Maximum tokens of the known memories. With what tiers show, a prompt for three new messages stays below 5,000 tokens.
MEMORY_TOKENS = 500
MAX_MEMORIES = 400  # memories of a tier that are ranked
IMPORTANCE_WEIGHT = 0.05  # of a step of importance, in cosine
UNNAMED_LANGUAGE = "the language of the messages"


def run(context: Context, window: Window) -> StageOutcome:
    """Read a window for those tiers with forms of lines that have not read it."""
    members = learners(context.chat)
    tiers = tiers_with_forms(context.tiers)
    forms = forms_of(tiers, is_group=len(members) > 1)
    reply, offered = _ask(context, window, members, forms)
    replies = {form.name: "NONE" for form in forms_with_lines()} | dict(reply.texts)
    if not reply.texts and "long_term" in context.tiers and plain.is_doubtful("", window.turns):
        replies["long_term"] = long_term.doubted_reply(context, window.turns)
    check = _due_check(context, window)
    if check is not None:
        context.also_read = [check.reply]  # of the step itself, not of the copy below
    context = context.answered(replies, offered)
    found: list[tuple[Context, Proposals]] = []
    due: list[list[Memory]] = []
    for tier in tiers:
        for member in (members if tier.per_member else [None]) if tier.has_memories else []:
            own = context.of_member(member)
            witnessed = set(own.witnessed(window.turns)) if tier.per_member and own.chat.is_group else None
            candidates = candidates_from(own, window.turns, tier.name, replies[tier.name], witnessed)
            found.append((own, compare_with_known(own, window.turns, tier.name, candidates)))
            due += consolidation.due_entries(own, tier.name)
    answers = review.ask(context, [proposals for _, proposals in found], due, check)
    outcomes = [outcome_of_proposals(own, proposals, answers.relations) for own, proposals in found]
    outcomes += [(tier.from_reading or tier.run)(context, window) for tier in tiers if not tier.has_memories]
    asked = {form.name for form in forms}
    unasked = [line for name, text in reply.texts.items() if name not in asked for line in text.split("\n")]
    return _joined([*outcomes, *answers.outcomes], [*reply.unused, *unasked])


def _ask(
    context: Context, window: Window, members: Sequence[Character | None], forms: Sequence[Form]
) -> tuple[DividedReply, Mapping[str, Any]]:
    """Ask for the lines of all tiers. Return the reply, and the ids that its numbers stand for, by list."""
    known = _known_material(context, window.turns, members)
    earlier = _earlier(context, window)
    subject = ", ".join(character.name for one in members if (character := one or context.chat.character))
    material = {
        "forms": _forms_text(forms, {"subject": subject, "per_kind": context.settings.new_per_kind}),
        "turns": turns_material(window.turns, dates=context.settings.dates, zone=context.zone),
        "earlier": turns_material(earlier, dates=context.settings.dates, zone=context.zone),
        "language": named_language(turn.mes for turn in window.turns.values()),
        **known,
    }
    limit = min(max(MIN_TOKENS, TOKENS_PER_MESSAGE * len(window.turns)), MAX_TOKENS)
    answer = context.ask.answer(
        "reading",
        material,
        max_tokens=limit,
        line_pattern=any_line_of(form.pattern for form in forms),
        # What is known may change until the window is read. That is no reason to pay for it twice. A message that
        # was shown for reference and changed or was hidden since is one: the reply may tell what it said.
        key=" ".join([window.key, window_key(list(earlier.values()), ""), *(form.name for form in forms)]),
        offered={
            form.known.name: {str(entry["number"]): entry["id"] for entry in known[form.known.name] if "id" in entry}
            for form in forms_with_lines()
            if form.known
        },
    )
    return divide_reply(answer.text), answer.offered


def _forms_text(forms: Sequence[Form], values: Mapping[str, Any]) -> str:
    return join_blocks((form.task, form.part, values) for form in forms)


def _earlier(context: Context, window: Window) -> dict[int, Message]:
    """Return the messages before the window that the prompt shows for reference."""
    first = window.messages[0].index
    return Window(messages_between(context.chat, first - context.earlier_count, first - 1)).turns


def named_language(texts: Iterable[str]) -> str:
    """Return the English name of the language that the newest of the texts are mostly in, else words for it."""
    return ENGLISH_NAMES.get(language_of(" ".join(texts)[-MAX_CHARACTERS:], ""), UNNAMED_LANGUAGE)


def _due_check(context: Context, window: Window) -> continuity.ReplyCheck | None:
    """Return the check of the newest reply, if the run reads no other window before it."""
    last = window.messages[-1]
    is_last = last.index >= context.last_index or last.pk == context.run.last_id
    if "continuity" not in context.run.tiers or not is_last:
        return None
    return continuity.due_check(context, review.MAX_FACT_TOKENS)


def _joined(outcomes: Sequence[StageOutcome], unused: Sequence[str]) -> StageOutcome:
    """Return one outcome that writes all of them."""
    writes = [write for outcome in outcomes for write in outcome.writes]
    return StageOutcome(writes, [*unused, *dict.fromkeys(line for outcome in outcomes for line in outcome.unused)])


# What is known and matters to a window, within a number of tokens


def _known_material(
    context: Context, turns: Mapping[int, Message], members: Sequence[Character | None]
) -> dict[str, Any]:
    """Return what is known as template values; entries that replies may cite have numbers."""
    words = content_words("\n".join(f"{turn.name}: {turn.mes}" for turn in turns.values()))
    known = [form.known for form in forms_with_lines() if form.known]
    return {
        "participants": context.participants,
        "memories": _memories(context, turns, members),
        **{one.name: _within(one.entries(context, turns), one.max_tokens, words) for one in known},
    }


def _memories(
    context: Context, turns: Mapping[int, Message], members: Sequence[Character | None]
) -> list[dict[str, Any]]:
    """Return the memories nearest to the turns, each text once."""
    rows = list(_ranked(context, Memory.Tier.SESSION, None))
    for member in members:
        character = member or context.chat.character
        rows += _ranked(context, Memory.Tier.LONG_TERM, character.pk if character else None)
    by_text = {row.text: row for row in rows}
    scores = _nearness(context, list(by_text.values()), [turn.mes for turn in turns.values()])
    ordered = sorted(by_text, key=lambda text: -scores[text])
    kept = fitting(ordered, MEMORY_TOKENS, count_tokens)
    return [{"number": number, "kind": by_text[text].kind, "text": text} for number, text in enumerate(sorted(kept), 1)]


def _ranked(context: Context, tier: str, character_id: Any) -> Any:
    rows = active_memories(context.chat, tier, character_id).filter(hidden=False).defer("lexemes")
    return rows.order_by("-pinned", "-importance", "-pk")[:MAX_MEMORIES]


def _nearness(context: Context, rows: Sequence[Memory], texts: Sequence[str]) -> dict[str, float]:
    """Return a score for each memory's text: its greatest cosine with one of ``texts``, and its importance."""
    vectors, model = vectors_if_available(context.owner_id, texts)
    words = [content_words(text) for text in texts]

    def similarity(row: Memory) -> float:
        if vectors is not None and row.embedding is not None and row.embedding_model == model:
            return float(np.max(vectors @ np.asarray(row.embedding)))
        own = content_words(row.text)
        return max((len(own & others) / (len(own) or 1) for others in words), default=0.0)

    return {row.text: similarity(row) + IMPORTANCE_WEIGHT * row.importance + row.pinned for row in rows}


def _within(entries: Sequence[Mapping[str, Any]], max_tokens: int, words: frozenset[str]) -> list[Mapping[str, Any]]:
    """Return the entries that fit, in their order, preferring those that share words with the window."""
    shared = [len(content_words(str(entry)) & words) for entry in entries]
    ranked = sorted(range(len(entries)), key=lambda number: (-shared[number], -number))
    kept = set(fitting(ranked, max_tokens, lambda number: count_tokens(str(entries[number]))))
    return [entry for number, entry in enumerate(entries) if number in kept]


READING = Task(
    "reading",
    _("All that new messages tell, in one call."),
    ("forms", "transcript"),
    ("participants", "memories", "open", "entities", "knowledge", "relationships", "earlier", "language"),
    is_usable=is_reading,
    parse=parse_reading,
    example=lambda: {
        "forms": _forms_text(forms_of(tiers_with_forms(), is_group=False), {"subject": "Mira", "per_kind": 4}),
        "turns": examples.TURNS[2:],
        "earlier": examples.TURNS[:2],
        "memories": examples.KNOWN_MEMORIES,
        "entities": examples.ENTITIES[:1],
    },
)
