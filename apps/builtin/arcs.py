"""The tasks ``arcs`` and ``arc_summary``: the threads that a chat leaves open, and how they came out."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apps.builtin.phrases import as_sentence
from apps.builtin.statements import Statement, statements_of
from apps.builtin.threads import Thread, settles, thread_in, thread_of
from apps.extraction.parsers.arcs import ARC, RESOLVED, ArcLine, print_arc
from apps.llm.generation import GenerationRequest
from apps.memories.wording import content_words, jaccard

MOST_NEW = 4
LEAST_TEXT = 16  # characters
SAME = 0.40  # Jaccard index from which two threads are one
SUMMARY_SENTENCES = 5


def arcs(request: GenerationRequest) -> str:
    """The most important threads that the turns open and don't settle, and those open ones that they settle."""
    statements = statements_of(request.material)
    known = request.material.get("open", ())
    lines = [ArcLine(ARC, thread.text) for thread in opened(statements) if not _is_known(thread.text, known)]
    lines += [
        ArcLine(RESOLVED, statement.quoted, arc["number"])
        for arc in known
        if (statement := _settlement(arc["text"], statements))
    ]
    return "\n".join(map(print_arc, lines)) or "NONE"


def opened(statements: Sequence[Statement]) -> list[Thread]:
    """The threads left open at the end, MOST_NEW at most, in the order of the chat."""
    found: dict[int, Thread] = {}
    for position, statement in enumerate(statements):
        thread = thread_in(statement)
        settled = thread and any(settles(later, thread) for later in statements[position + 1 :])
        if thread and not settled and len(thread.text) >= LEAST_TEXT:
            found[position] = thread
    chosen: dict[int, Thread] = {}
    for position in sorted(found, key=lambda place: -_worth(found[place], statements[place])):
        if not any(jaccard(found[position].text, other.text) >= SAME for other in chosen.values()):
            chosen[position] = found[position]
    return [chosen[position] for position in sorted(list(chosen)[:MOST_NEW])]


def _worth(thread: Thread, statement: Statement) -> float:
    return thread.weight + 0.5 * min(len(statement.named), 2) + 0.1 * min(len(thread.words), 5)


def _is_known(text: str, known: Iterable[Mapping[str, Any]]) -> bool:
    return any(jaccard(text, arc["text"]) >= SAME for arc in known)


def _settlement(arc: str, statements: Sequence[Statement]) -> Statement | None:
    """The sentence that settles an arc; where the turns hold the arc's own sentence, one after the last of it."""
    thread = thread_of(arc)
    begin = max((place + 1 for place, statement in enumerate(statements) if statement.quoted == arc), default=0)
    return next((one for one in statements[begin:] if thread and settles(one, thread)), None)


def arc_summary(request: GenerationRequest) -> str:
    """The arc's own sentence and those of the scenes and memories that are about the same, in order."""
    arc = request.material["arc"]
    words = content_words(arc)
    said = dict.fromkeys([*request.material.get("scenes", ()), *request.material.get("memories", ())])
    about = [text for text in said if len(content_words(text) & words) >= 2 and jaccard(text, arc) < 1]
    last = list(said)[-1:] if said else []
    best = sorted(about, key=lambda text: -len(content_words(text) & words))[: SUMMARY_SENTENCES - 2]
    chosen = [text for text in said if text in {*best, *last}]
    return " ".join(as_sentence(text) for text in dict.fromkeys([arc, *chosen]))
