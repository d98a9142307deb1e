"""Task ``summary``: the summary so far, extended with the turns' own sentences.

What happened and what was revealed is added to, and thinned in the middle where it grows too long; where things stand
is rewritten each time, and never cut.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from apps.builtin.arcs import opened, settlement
from apps.builtin.people import is_narrator
from apps.builtin.salience import RELATIONSHIP, REVELATION, salience
from apps.builtin.scenes import setting_of
from apps.builtin.statements import Statement, statements_of
from apps.extraction.parsers.summary import parse_summary, print_summary
from apps.extraction.parsers.text_cleanup import clean_reply, one_line, strip_html
from apps.llm.generation import GenerationRequest

SCENE_AND_SETTING, PRESENT, EVENTS, RELATIONSHIPS, REVEALED, THREADS, WISHES, MOMENT, NEXT = range(1, 10)
LEAST_SALIENCE = 1.5
MOST_NEW = {EVENTS: 8, REVEALED: 3, RELATIONSHIPS: 3}  # sentences added at a time
MAX_CHARS = {EVENTS: 3000, REVEALED: 1200, RELATIONSHIPS: 1200}
MAX_SENTENCE = 280  # characters
MOST_THREADS, MOST_WISHES, MOST_OF_THE_MOMENT, MOST_NEXT = 6, 2, 3, 2
LATEST = 6  # turns from which it shows who is present
LEAST_WORDS = 4
BULLET = "- "
_WISH = re.compile(
    r"\b(?:I (?:want|need|wish|would like|have to|must)|I['’]d (?:like|love)|let['’]?s|let us|we (?:should|must|need|"
    r"have to)|(?:can|could) (?:we|you)|please)\b",
    re.IGNORECASE,
)
_AHEAD = re.compile(
    r"\b(?:tomorrow|tonight|soon|next \w+|at (?:dawn|dusk|nightfall|first light|midnight)|will|shall|going to|"
    r"plan(?:s|ning)? to|let['’]s|let us)\b|['’]ll\b",
    re.IGNORECASE,
)


def summary(request: GenerationRequest) -> str:
    """Print the nine sections after the turns."""
    before = _sections(request.material.get("summary", ""))
    statements = [one for one in statements_of(request.material) if 0 < len(_quoted(one)) <= MAX_SENTENCE]
    told = [one for one in statements if not one.asks]
    users = {turn["number"] for turn in request.material["turns"] if turn.get("is_user")}
    wishes = [one for one in told if one.sentence.turn in users and _WISH.search(one.text)]
    shown = [one for one in statements if len(one.sentence.words) >= LEAST_WORDS] or statements
    ahead = [one for one in told if _AHEAD.search(one.text)]
    stands = {
        SCENE_AND_SETTING: list(map(_quoted, setting_of(statements))),
        PRESENT: _present(request.material["turns"][-LATEST:], statements),
        WISHES: list(map(_quoted, wishes[-MOST_WISHES:])),
        MOMENT: list(map(_quoted, shown[-MOST_OF_THE_MOMENT:])),
        NEXT: list(map(_quoted, ahead[-MOST_NEXT:])),
    }
    sections = {
        **before,
        **{number: items for number, items in stands.items() if items},
        **{
            number: _extended(before.get(number, []), new, MAX_CHARS[number])
            for number, new in _worth_keeping(told).items()
        },
        THREADS: _threads(before.get(THREADS, []), statements),
    }
    return print_summary({number: _text(items) for number, items in sorted(sections.items()) if items})


def _sections(text: str) -> dict[int, list[str]]:
    """Return the items of the sections so far. A text without sections was written by a person: it is what happened."""
    sections = parse_summary(f"[SUMMARY]\n{text}\n[/SUMMARY]").sections
    if text.strip() and not sections:
        sections = {EVENTS: one_line(strip_html(clean_reply(text)), MAX_CHARS[EVENTS])}
    items = {
        number: [line.removeprefix(BULLET).strip() for line in said.split("\n")] for number, said in sections.items()
    }
    return {number: [item for item in found if item] for number, found in items.items()}


def _text(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else "\n".join(f"{BULLET}{item}" for item in items)


def _one_line(text: str) -> str:
    return one_line(strip_html(clean_reply(text)))


def _quoted(statement: Statement) -> str:
    return _one_line(statement.quoted)


def _worth_keeping(told: Sequence[Statement]) -> Mapping[int, list[str]]:
    """Return the most telling sentences by section, in the order of the chat."""
    chosen: dict[int, list[int]] = {number: [] for number in MOST_NEW}
    scores = {place: salience(one.sentence, one.named) for place, one in enumerate(told)}
    for place in sorted(scores, key=lambda place: -scores[place]):
        text = told[place].text
        number = REVEALED if REVELATION.search(text) else RELATIONSHIPS if RELATIONSHIP.search(text) else EVENTS
        if scores[place] >= LEAST_SALIENCE and len(chosen[number]) < MOST_NEW[number]:
            chosen[number].append(place)
    return {number: [_quoted(told[place]) for place in sorted(places)] for number, places in chosen.items()}


def _extended(old: Sequence[str], new: Iterable[str], max_chars: int) -> list[str]:
    """Return ``old`` and what it lacks of ``new``; where that is too long, old items go, from the middle."""
    added = [item for item in dict.fromkeys(new) if item not in old]
    kept = list(old)
    while kept and sum(map(len, (*kept, *added))) > max_chars:
        del kept[len(kept) // 2]
    return [*kept, *added]


def _present(turns: Sequence[Mapping[str, str]], statements: Sequence[Statement]) -> list[str]:
    """Return who speaks in the turns, or is named in their narration."""
    numbers = {turn["number"] for turn in turns}
    names = [turn["speaker"] for turn in turns if turn["speaker"] and not is_narrator(turn["speaker"])]
    names += [name for one in statements if one.sentence.turn in numbers and one.narrated for name in one.named]
    return [", ".join(dict.fromkeys(filter(None, map(_one_line, names))))] if names else []


def _threads(old: Sequence[str], statements: Sequence[Statement]) -> list[str]:
    """Return the old threads that nothing settled, and the new ones."""
    still = [text for text in old if not settlement(text, statements)]
    new = [text for thread in opened(statements) if (text := _one_line(thread.text)) not in still]
    return [*still, *new][-MOST_THREADS:]
