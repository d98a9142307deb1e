"""Answer the tasks ``arcs`` and ``arc_summary``: find open story threads, resolve and summarize them."""

from apps.builtin.reading.phrases import as_sentence
from apps.builtin.reading.statements import statements_of
from apps.builtin.story.threads import MIN_THREAD_OVERLAP, find_resolution, open_threads
from apps.english.words import content_words, jaccard
from apps.extraction.tiers.arcs import ARC, RESOLVED, ArcLine, format_arc
from apps.llm.generation import GenerationRequest

MAX_SENTENCES = 5  # of a summary: the arc, those on its topic, and the last one
MIN_SHARED_WORDS = 2  # with the arc, of a sentence on its topic


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


def arc_summary(request: GenerationRequest) -> str:
    """Return the arc's sentence and the sentences of scenes and memories on the same topic, in order."""
    arc = request.material["arc"]
    words = content_words(arc)
    texts = list(dict.fromkeys([*request.material.get("scenes", ()), *request.material.get("memories", ())]))
    related = [
        text for text in texts if len(content_words(text) & words) >= MIN_SHARED_WORDS and jaccard(text, arc) < 1
    ]
    best = sorted(related, key=lambda text: -len(content_words(text) & words))[: MAX_SENTENCES - 2]
    chosen = [text for text in texts if text in {*best, *texts[-1:]}]
    return " ".join(as_sentence(text) for text in dict.fromkeys([arc, *chosen]))
