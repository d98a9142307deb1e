"""Tasks ``arcs`` and ``arc_summary``: the threads that a chat leaves open, and how they came out."""

from collections.abc import Sequence

from apps.builtin.phrases import as_sentence
from apps.builtin.statements import Statement, statements_of
from apps.builtin.threads import Thread, settles, thread_in, thread_of
from apps.english.words import content_words, jaccard
from apps.extraction.parsers.arcs import ARC, RESOLVED, ArcLine, print_arc
from apps.llm.generation import GenerationRequest

MOST_NEW = 4
LEAST_TEXT = 16  # characters
SAME = 0.40  # Jaccard index from which two threads are one
SUMMARY_SENTENCES = 5


def arcs(request: GenerationRequest) -> str:
    """Print the most important threads that the turns open and don't settle, and those open ones that they settle."""
    statements = statements_of(request.material)
    known = request.material.get("open", ())
    new = [
        thread.text
        for thread in opened(statements)
        if not any(jaccard(thread.text, arc["text"]) >= SAME for arc in known)
    ]
    lines = [ArcLine(ARC, text) for text in new]
    lines += [
        ArcLine(RESOLVED, statement.quoted, arc["number"])
        for arc in known
        if (statement := settlement(arc["text"], statements))
    ]
    return "\n".join(map(print_arc, lines)) or "NONE"


def opened(statements: Sequence[Statement]) -> list[Thread]:
    """Return the threads left open at the end, MOST_NEW at most, in the order of the chat."""
    found: dict[int, Thread] = {}
    for position, statement in enumerate(statements):
        thread = thread_in(statement)
        settled = thread and any(settles(later, thread) for later in statements[position + 1 :])
        if thread and not settled and len(thread.text) >= LEAST_TEXT:
            found[position] = thread
    chosen: dict[int, Thread] = {}
    for position in sorted(found, key=lambda place: -found[place].weight - 0.5 * len(statements[place].named[:2])):
        if not any(jaccard(found[position].text, other.text) >= SAME for other in chosen.values()):
            chosen[position] = found[position]
    return [chosen[position] for position in sorted(list(chosen)[:MOST_NEW])]


def settlement(text: str, statements: Sequence[Statement]) -> Statement | None:
    """Return the sentence that settles the thread of a text; where the turns hold that text, one after it."""
    thread = thread_of(text)
    begin = max((place + 1 for place, statement in enumerate(statements) if statement.quoted == text), default=0)
    return next((one for one in statements[begin:] if thread and settles(one, thread)), None)


def arc_summary(request: GenerationRequest) -> str:
    """Print the arc's own sentence and those of the scenes and memories that are about the same, in order."""
    arc = request.material["arc"]
    words = content_words(arc)
    said = list(dict.fromkeys([*request.material.get("scenes", ()), *request.material.get("memories", ())]))
    about = [text for text in said if len(content_words(text) & words) >= 2 and jaccard(text, arc) < 1]
    best = sorted(about, key=lambda text: -len(content_words(text) & words))[: SUMMARY_SENTENCES - 2]
    chosen = [text for text in said if text in {*best, *said[-1:]}]
    return " ".join(as_sentence(text) for text in dict.fromkeys([arc, *chosen]))
