"""Answer the task ``summary``: extend the previous summary with sentences of the turns.

Sections on events, revelations and relationships grow and lose items from their middle when too long. Sections on
the current situation are rewritten each time and never cut.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from apps.builtin.reading.people import is_narrator
from apps.builtin.reading.statements import Statement, statements_of
from apps.builtin.story.setting import setting_statements
from apps.builtin.story.threads import find_resolution, open_threads
from apps.builtin.worth.salience import RELATIONSHIP, REVELATION, salience
from apps.extraction.parsers.text_cleanup import clean_reply, one_line, strip_html
from apps.extraction.tiers.summary import format_summary, parse_summary
from apps.llm.generation import GenerationRequest

SCENE_AND_SETTING, PRESENT, EVENTS, RELATIONSHIPS, REVEALED, THREADS, WISHES, MOMENT, NEXT = range(1, 10)
MIN_SALIENCE = 1.5
MAX_ADDED = {EVENTS: 8, REVEALED: 3, RELATIONSHIPS: 3}  # new sentences per summary
MAX_CHARS = {EVENTS: 3000, REVEALED: 1200, RELATIONSHIPS: 1200}
MAX_SENTENCE_CHARS = 280
MAX_THREADS, MAX_WISHES, MAX_MOMENT, MAX_NEXT = 6, 2, 3, 2
PRESENT_TURNS = 6  # last turns whose speakers and names count as present
BULLET = "- "
_WISH = re.compile(
    r"\b(?:I (?:want|need|wish|would like|have to|must)|I['’]d (?:like|love)|let['’]?s|let us|we (?:should|must|need|"
    r"have to)|(?:can|could) (?:we|you)|please)\b",
    re.IGNORECASE,
)
_FUTURE = re.compile(
    r"\b(?:tomorrow|tonight|soon|next \w+|at (?:dawn|dusk|nightfall|first light|midnight)|will|shall|going to|"
    r"plan(?:s|ning)? to|let['’]s|let us)\b|['’]ll\b",
    re.IGNORECASE,
)


def summary(request: GenerationRequest) -> str:
    """Return the nine sections, updated by the turns."""
    previous = _sections(request.material.get("summary", ""))
    statements = [item for item in statements_of(request.material) if 0 < len(_quote(item)) <= MAX_SENTENCE_CHARS]
    asserted = [item for item in statements if not item.is_question]
    user_turns = {turn["number"] for turn in request.material["turns"] if turn.get("is_user")}
    wishes = [item for item in asserted if item.sentence.turn in user_turns and _WISH.search(item.text)]
    recent = [item for item in statements if not item.is_brief] or statements
    upcoming = [item for item in asserted if _FUTURE.search(item.text)]
    current = {
        SCENE_AND_SETTING: list(map(_quote, setting_statements(statements))),
        PRESENT: _people_present(request.material["turns"][-PRESENT_TURNS:], statements),
        WISHES: list(map(_quote, wishes[-MAX_WISHES:])),
        MOMENT: list(map(_quote, recent[-MAX_MOMENT:])),
        NEXT: list(map(_quote, upcoming[-MAX_NEXT:])),
    }
    added = _salient_sentences(asserted)
    sections = {
        **previous,
        **{number: items for number, items in current.items() if items},
        **{number: _extend(previous.get(number, []), items, MAX_CHARS[number]) for number, items in added.items()},
        THREADS: _threads(previous.get(THREADS, []), statements),
    }
    return format_summary({number: _format_items(items) for number, items in sorted(sections.items()) if items})


def _sections(text: str) -> dict[int, list[str]]:
    """Return the items of a summary's sections. A text without sections, written by a person, counts as events."""
    sections = parse_summary(f"[SUMMARY]\n{text}\n[/SUMMARY]").sections
    if text.strip() and not sections:
        sections = {EVENTS: one_line(strip_html(clean_reply(text)), MAX_CHARS[EVENTS])}
    return {
        number: [item for line in text.split("\n") if (item := line.removeprefix(BULLET).strip())]
        for number, text in sections.items()
    }


def _format_items(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else "\n".join(f"{BULLET}{item}" for item in items)


def _clean(text: str) -> str:
    return one_line(strip_html(clean_reply(text)))


def _quote(statement: Statement) -> str:
    return _clean(statement.quoted)


def _salient_sentences(statements: Sequence[Statement]) -> Mapping[int, list[str]]:
    """Return the most salient sentences by section, in the order of the chat."""
    chosen: dict[int, list[int]] = {number: [] for number in MAX_ADDED}
    scores = {index: salience(statement.sentence, statement.named) for index, statement in enumerate(statements)}
    for index in sorted(scores, key=lambda index: -scores[index]):
        text = statements[index].text
        number = REVEALED if REVELATION.search(text) else RELATIONSHIPS if RELATIONSHIP.search(text) else EVENTS
        if scores[index] >= MIN_SALIENCE and len(chosen[number]) < MAX_ADDED[number]:
            chosen[number].append(index)
    return {number: [_quote(statements[index]) for index in sorted(indices)] for number, indices in chosen.items()}


def _extend(old: Sequence[str], new: Iterable[str], max_chars: int) -> list[str]:
    """Return ``old`` and the missing items of ``new``; beyond ``max_chars``, old items are dropped from the middle."""
    added = [item for item in dict.fromkeys(new) if item not in old]
    kept = list(old)
    while kept and sum(map(len, (*kept, *added))) > max_chars:
        del kept[len(kept) // 2]
    return [*kept, *added]


def _people_present(turns: Sequence[Mapping[str, str]], statements: Sequence[Statement]) -> list[str]:
    """Return, as one item, the names of the turns' speakers and of the people in their narration."""
    numbers = {turn["number"] for turn in turns}
    names = [turn["speaker"] for turn in turns if turn["speaker"] and not is_narrator(turn["speaker"])]
    names += [name for item in statements if item.sentence.turn in numbers and item.narrated for name in item.named]
    return [", ".join(dict.fromkeys(filter(None, map(_clean, names))))] if names else []


def _threads(old: Sequence[str], statements: Sequence[Statement]) -> list[str]:
    """Return the last MAX_THREADS of the unresolved old threads and the new ones."""
    unresolved = [text for text in old if not find_resolution(text, statements)]
    new = [text for thread in open_threads(statements) if (text := _clean(thread.text)) not in unresolved]
    return [*unresolved, *new][-MAX_THREADS:]
