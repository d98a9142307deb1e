"""Answer the tasks ``arcs`` and ``arc_summary``: find open story threads, resolve and summarize them."""

from collections.abc import Sequence

from apps.builtin.phrases import as_sentence
from apps.builtin.statements import Statement, statements_of
from apps.builtin.threads import Thread, find_thread, parse_thread, resolves
from apps.english.words import content_words, jaccard
from apps.extraction.tiers.arcs import ARC, RESOLVED, ArcLine, format_arc
from apps.llm.generation import GenerationRequest

MAX_NEW_ARCS = 4
MIN_THREAD_CHARS = 16  # minimum length of a thread's text
MIN_THREAD_OVERLAP = 0.40  # Jaccard index from which two texts state the same thread
SUMMARY_SENTENCES = 5


def arcs(request: GenerationRequest) -> str:
    """Return lines for the most important threads that are open at the end and for known arcs that are resolved."""
    statements = statements_of(request.material)
    known = request.material.get("open", ())
    lines = [
        ArcLine(ARC, thread.text)
        for thread in open_threads(statements)
        if not any(jaccard(thread.text, arc["text"]) >= MIN_THREAD_OVERLAP for arc in known)
    ]
    lines += [
        ArcLine(RESOLVED, statement.quoted, arc["number"])
        for arc in known
        if (statement := find_resolution(arc["text"], statements))
    ]
    return "\n".join(map(format_arc, lines)) or "NONE"


def open_threads(statements: Sequence[Statement]) -> list[Thread]:
    """Return at most MAX_NEW_ARCS threads that are open at the end, in the order of the chat."""
    threads: dict[int, Thread] = {}
    for position, statement in enumerate(statements):
        thread = find_thread(statement)
        resolved = thread and any(resolves(later, thread) for later in statements[position + 1 :])
        if thread and not resolved and len(thread.text) >= MIN_THREAD_CHARS:
            threads[position] = thread
    chosen: dict[int, Thread] = {}
    for position in sorted(threads, key=lambda index: -threads[index].weight - 0.5 * len(statements[index].named[:2])):
        if not any(jaccard(threads[position].text, other.text) >= MIN_THREAD_OVERLAP for other in chosen.values()):
            chosen[position] = threads[position]
    return [chosen[position] for position in sorted(list(chosen)[:MAX_NEW_ARCS])]


def find_resolution(text: str, statements: Sequence[Statement]) -> Statement | None:
    """Return the first sentence that resolves the thread stated by ``text``, or None.

    If the turns contain ``text``, only the sentences after it are searched.
    """
    thread = parse_thread(text)
    start = max((index + 1 for index, statement in enumerate(statements) if statement.quoted == text), default=0)
    return next((statement for statement in statements[start:] if thread and resolves(statement, thread)), None)


def arc_summary(request: GenerationRequest) -> str:
    """Return the arc's sentence and the sentences of scenes and memories on the same topic, in order."""
    arc = request.material["arc"]
    words = content_words(arc)
    texts = list(dict.fromkeys([*request.material.get("scenes", ()), *request.material.get("memories", ())]))
    related = [text for text in texts if len(content_words(text) & words) >= 2 and jaccard(text, arc) < 1]
    best = sorted(related, key=lambda text: -len(content_words(text) & words))[: SUMMARY_SENTENCES - 2]
    chosen = [text for text in texts if text in {*best, *texts[-1:]}]
    return " ".join(as_sentence(text) for text in dict.fromkeys([arc, *chosen]))
