"""The task ``summary``: the summary so far, carried on with the turns' own sentences.

What happened and what was revealed is added to, and thinned in the middle where it grows too long; where things stand
is written anew each time, and never cut.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from apps.builtin.arcs import opened
from apps.builtin.cast import is_narrator
from apps.builtin.salience import RELATIONSHIP, REVELATION, kind_of, salience
from apps.builtin.setting import setting
from apps.builtin.statements import Statement, statements_of
from apps.builtin.threads import settles, thread_of
from apps.extraction.parsers.summary import parse_summary, print_summary
from apps.extraction.parsers.text_cleanup import clean_reply, one_line, strip_html
from apps.llm.generation import GenerationRequest

SCENE_AND_SETTING, PRESENT, EVENTS, RELATIONSHIPS, REVEALED, THREADS, WISHES, MOMENT, NEXT = range(1, 10)
LEAST_SALIENCE = 1.5
MOST_NEW = {EVENTS: 8, REVEALED: 3, RELATIONSHIPS: 3}  # sentences added at a time
MAX_CHARS = {EVENTS: 3000, REVEALED: 1200, RELATIONSHIPS: 1200, THREADS: 1200}
MAX_SENTENCE = 280  # characters
MOST_THREADS, MOST_WISHES, MOST_OF_THE_MOMENT, MOST_NEXT = 6, 2, 3, 2
LATEST = 6  # turns from which it shows who is present
_KINDS = {"relationships": RELATIONSHIP, "revealed": REVELATION}
_SECTION_OF = {"relationships": RELATIONSHIPS, "revealed": REVEALED, "events": EVENTS}
_WISH = re.compile(
    r"\b(?:I (?:want|need|wish|would like|have to|must)|I['’]d (?:like|love)|let['’]?s|let us|we (?:should|must|need|"
    r"have to)|can (?:we|you)|could (?:we|you)|please)\b",
    re.IGNORECASE,
)
_AHEAD = re.compile(
    r"\b(?:tomorrow|tonight|soon|next (?:time|week|month|year|day|morning|weekend|spring|summer|autumn|winter)|"
    r"at (?:dawn|dusk|nightfall|first light|midnight)|will|shall|going to|planning to|plans? to|let['’]s|let us)\b|"
    r"['’]ll\b",
    re.IGNORECASE,
)
BULLET = "- "


def summary(request: GenerationRequest) -> str:
    """The nine sections after the turns."""
    before = _sections(request.material.get("summary", ""))
    statements = [one for one in statements_of(request.material) if 0 < len(_quoted(one)) <= MAX_SENTENCE]
    sections = {number: list(items) for number, items in before.items()}
    for number, new in _worth_keeping(statements).items():
        sections[number] = _extended(sections.get(number, []), new, MAX_CHARS[number])
    rewritten: dict[int, Callable[[], list[str]]] = {
        SCENE_AND_SETTING: lambda: [_quoted(one) for one in setting(statements)],
        PRESENT: lambda: _present(request, statements),
        THREADS: lambda: _threads(before.get(THREADS, []), statements),
        WISHES: lambda: _wishes(request, statements),
        MOMENT: lambda: [_quoted(one) for one in _shown(statements)[-MOST_OF_THE_MOMENT:]],
        NEXT: lambda: _next(statements),
    }
    for number, write in rewritten.items():
        sections[number] = write() or ([] if number == THREADS else before.get(number, []))
    return print_summary({number: _text(items) for number, items in sections.items() if items})


def _sections(text: str) -> dict[int, list[str]]:
    """The items of the sections so far. What has no sections, since a person wrote it, is what happened."""
    sections = parse_summary(f"[SUMMARY]\n{text}\n[/SUMMARY]").sections
    if text.strip() and not sections:
        sections = {EVENTS: one_line(strip_html(clean_reply(text)), MAX_CHARS[EVENTS])}
    items = {
        number: [line.removeprefix(BULLET).strip() for line in said.split("\n")] for number, said in sections.items()
    }
    return {number: [item for item in found if item] for number, found in items.items()}


def _text(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else "\n".join(f"{BULLET}{item}" for item in items)


def _quoted(statement: Statement) -> str:
    return one_line(strip_html(clean_reply(statement.quoted)))


def _shown(statements: Sequence[Statement]) -> list[Statement]:
    """Sentences of more than a word or two; all where there are no others."""
    return [one for one in statements if len(one.sentence.words) > 3] or list(statements)


def _worth_keeping(statements: Sequence[Statement]) -> Mapping[int, list[str]]:
    """The most telling sentences by section, in the order of the chat."""
    chosen: dict[int, list[int]] = {number: [] for number in MOST_NEW}
    scores = {place: salience(one.sentence, one.named) for place, one in enumerate(statements) if not one.asks}
    for place in sorted(scores, key=lambda place: -scores[place]):
        number = _SECTION_OF[kind_of(statements[place].sentence, _KINDS, "events")]
        if scores[place] >= LEAST_SALIENCE and len(chosen[number]) < MOST_NEW[number]:
            chosen[number].append(place)
    return {number: [_quoted(statements[place]) for place in sorted(places)] for number, places in chosen.items()}


def _extended(old: Sequence[str], new: Iterable[str], max_chars: int) -> list[str]:
    """``old`` and what is not in it of ``new``; where that is too long, old items go, from the middle."""
    added = [item for item in dict.fromkeys(new) if item not in old]
    kept = list(old)
    while kept and sum(map(len, (*kept, *added))) > max_chars:
        del kept[len(kept) // 2]
    return [*kept, *added]


def _present(request: GenerationRequest, statements: Sequence[Statement]) -> list[str]:
    """Who speaks in the latest turns, or is named where they are narrated."""
    turns = request.material["turns"][-LATEST:]
    numbers = {turn["number"] for turn in turns}
    names = [turn["speaker"] for turn in turns if turn["speaker"] and not is_narrator(turn["speaker"])]
    for one in statements:
        if one.sentence.turn in numbers and one.narrated:
            names += one.named
    cleaned = (one_line(strip_html(clean_reply(name))) for name in names)
    return [", ".join(dict.fromkeys(filter(None, cleaned)))] if names else []


def _threads(old: Sequence[str], statements: Sequence[Statement]) -> list[str]:
    """The old threads that nothing settled, and the new ones."""
    still = [text for text in old if not _settled(text, statements)]
    new = [
        text for thread in opened(statements) if (text := one_line(strip_html(clean_reply(thread.text)))) not in still
    ]
    return [*still, *new][-MOST_THREADS:]


def _settled(text: str, statements: Sequence[Statement]) -> bool:
    thread = thread_of(text)
    begin = next((place + 1 for place, one in enumerate(statements) if _quoted(one) == text), 0)
    return thread is not None and any(settles(one, thread) for one in statements[begin:])


def _wishes(request: GenerationRequest, statements: Sequence[Statement]) -> list[str]:
    """What the user last said that they want."""
    users = {turn["number"] for turn in request.material["turns"] if turn.get("is_user")}
    wishes = [one for one in statements if one.sentence.turn in users and not one.asks and _WISH.search(one.text)]
    return [_quoted(one) for one in wishes[-MOST_WISHES:]]


def _next(statements: Sequence[Statement]) -> list[str]:
    """What was last said to lie ahead."""
    ahead = [one for one in statements if not one.asks and _AHEAD.search(one.text)]
    return [_quoted(one) for one in ahead[-MOST_NEXT:]]
