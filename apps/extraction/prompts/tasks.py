"""Tasks of language models, and the placeholders of their templates. Without database access."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """Task of a language model. ``required`` placeholders must occur in its template, ``optional`` ones may."""

    description: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


TASKS: Mapping[str, Task] = {
    "reading": Task(
        "All that new messages tell, in one call.",
        ("forms", "transcript"),
        ("participants", "memories", "open", "entities", "knowledge", "relationships", "earlier"),
    ),
    "review": Task("All that is uncertain or due after a reading, in one call.", ("questions",)),
    "session": Task("Memories of what happens in one chat.", ("transcript",), ("known", "participants", "per_kind")),
    "long_term": Task(
        "Memories that a character keeps beyond one chat.",
        ("transcript",),
        ("known", "participants", "per_kind", "subject"),
    ),
    "triggers": Task("Words that recall a memory.", ("memories",)),
    "relationships": Task("How relationships between people change.", ("transcript", "names"), ("known",)),
    "consolidate": Task("Merges of memories that say the same.", ("entries",), ("kind",)),
    "pairs": Task("Whether new memories replace or repeat old ones.", ("pairs",)),
    "summary": Task("The story so far, in nine sections.", ("summary", "transcript"), ("known",)),
    "scene_break": Task("Whether a message begins a new scene.", ("transcript",), ("number",)),
    "scene_recap": Task("A scene in two or three sentences.", ("transcript",)),
    "epistemic": Task("Who knows, suspects, believes or hides what.", ("transcript",), ("participants", "known")),
    "arcs": Task("Story arcs that begin or are resolved.", ("transcript", "open")),
    "arc_summary": Task("A summary of a resolved arc.", ("arc",), ("scenes", "memories")),
    "ledger": Task("The current state of characters, objects and places.", ("transcript", "entities")),
    "profiles": Task(
        "The present state of a character and their world.", ("subject", "transcript"), ("names", "memories")
    ),
    "canon": Task("A character's history in three paragraphs.", ("memories",), ("subject", "arcs")),
    "continuity": Task("What a reply contradicts.", ("transcript", "facts")),
    "repair": Task("A note that resolves a contradiction.", ("issues",), ("facts",)),
}

PLACEHOLDER_MEANINGS: Mapping[str, str] = {
    "transcript": "the messages, numbered, between marks",
    "known": "entries that are already known",
    "participants": "the names of all participants",
    "names": "the names that may be used",
    "per_kind": "the maximum number of lines of each kind",
    "subject": "the name of the character",
    "memories": "the memories",
    "entries": "the memories that may be merged, numbered",
    "kind": "the kind of these memories",
    "pairs": "pairs of an older and a newer memory, numbered",
    "forms": "the forms of lines that the tiers ask for",
    "knowledge": "entries about who knows what, numbered",
    "relationships": "how people stand to each other",
    "earlier": "messages before the new ones, which have been read already",
    "questions": "the questions, each with what it is about",
    "summary": "the summary so far",
    "number": "the number of the message in question",
    "open": "the open threads, numbered",
    "arc": "the arc that was resolved",
    "scenes": "recaps of scenes, the oldest first",
    "entities": "the entities, with their known state",
    "arcs": "summaries of resolved arcs",
    "facts": "the known facts, numbered",
    "issues": "the contradictions that were found",
}
