"""What models are asked for, and what a template of each task may, or must, have filled in. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """``required`` placeholders are those without which a model couldn't know what it is asked about."""

    description: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


TASKS: Mapping[str, Task] = {
    "session": Task("Memories of what happens in one chat.", ("transcript",), ("known", "participants", "per_kind")),
    "long_term": Task(
        "Memories that a character keeps beyond one chat.",
        ("transcript",),
        ("known", "participants", "per_kind", "subject"),
    ),
    "triggers": Task("Words that bring a memory to mind.", ("memories",)),
    "relationships": Task("How people come to feel about each other.", ("transcript", "names"), ("known",)),
    "consolidate": Task("Which memories say the same, and what they say together.", ("entries",), ("kind",)),
    "supersession": Task("Whether a new memory takes the place of an old one.", ("old", "new")),
    "summary": Task("The story so far, in nine sections.", ("summary", "transcript"), ("known",)),
    "scene_break": Task("Whether a message begins a new scene.", ("transcript",), ("number",)),
    "scene_recap": Task("A scene in two or three sentences.", ("transcript",)),
    "epistemic": Task("Who knows, suspects, believes or hides what.", ("transcript",), ("participants", "known")),
    "arcs": Task("Threads of the story that open and close.", ("transcript", "open")),
    "arc_summary": Task("How a thread of the story went.", ("arc",), ("scenes", "memories")),
    "ledger": Task("Where everybody and everything is, and how.", ("transcript", "entities")),
    "profiles": Task("How a character and their world stand now.", ("subject", "transcript"), ("names", "memories")),
    "canon": Task("A character's history in three paragraphs.", ("memories",), ("subject", "arcs")),
    "continuity": Task("What a reply contradicts.", ("transcript", "facts")),
    "repair": Task("A note that sets a contradiction right.", ("issues",), ("facts",)),
}

MEANINGS: Mapping[str, str] = {
    "transcript": "the messages, numbered, between marks",
    "known": "what is remembered already",
    "participants": "the names of all who take part",
    "names": "the names that may be used",
    "per_kind": "how many lines of a kind are wanted at most",
    "subject": "the character that it is for",
    "memories": "the memories that it is about",
    "entries": "the memories that may be merged, numbered",
    "kind": "the kind of these memories",
    "old": "the older memory",
    "new": "the newer memory",
    "summary": "the summary so far",
    "number": "the number of the message in question",
    "open": "the open threads, numbered",
    "arc": "the thread that was resolved",
    "scenes": "recaps of scenes, the oldest first",
    "entities": "who and what may have a state, with what holds for each",
    "arcs": "how resolved threads went",
    "facts": "what is settled",
    "issues": "the contradictions that were found",
}
