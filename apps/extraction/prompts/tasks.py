"""Tasks of language models, and the placeholders of their templates. Without database access."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from apps.common.words import Words


@dataclass(frozen=True)
class Task:
    """Task of a language model. ``required`` placeholders must occur in its template, ``optional`` ones may."""

    description: Words
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


TASKS: Mapping[str, Task] = {
    "reading": Task(
        _("All that new messages tell, in one call."),
        ("forms", "transcript"),
        ("participants", "memories", "open", "entities", "knowledge", "relationships", "earlier", "language"),
    ),
    "review": Task(_("All that is uncertain or due after a reading, in one call."), ("questions",)),
    "plain": Task(
        _("What somebody tells in a few messages, in plain sentences: for small models."),
        ("transcript", "subject"),
        ("names",),
    ),
    "plainest": Task(
        _("The same in the simplest words: when a model found nothing in many messages."),
        ("transcript", "subject"),
        ("names",),
    ),
    "session": Task(_("Memories of what happens in one chat."), ("transcript",), ("known", "participants", "per_kind")),
    "long_term": Task(
        _("Memories that a character keeps beyond one chat."),
        ("transcript",),
        ("known", "participants", "per_kind", "subject"),
    ),
    "triggers": Task(_("Words that recall a memory."), ("memories",)),
    "relationships": Task(_("How relationships between people change."), ("transcript", "names"), ("known",)),
    "consolidate": Task(_("Merges of memories that say the same."), ("entries",), ("kind",)),
    "pairs": Task(_("Whether new memories replace or repeat old ones."), ("pairs",)),
    "summary": Task(_("The story so far, in nine sections."), ("summary", "transcript"), ("known",)),
    "scene_break": Task(_("Whether a message begins a new scene."), ("transcript",), ("number",)),
    "scene_recap": Task(_("A scene in two or three sentences."), ("transcript",)),
    "epistemic": Task(_("Who knows, suspects, believes or hides what."), ("transcript",), ("participants", "known")),
    "arcs": Task(_("Story arcs that begin or are resolved."), ("transcript", "open")),
    "arc_summary": Task(_("A summary of a resolved arc."), ("arc",), ("scenes", "memories")),
    "ledger": Task(_("The current state of characters, objects and places."), ("transcript", "entities")),
    "profiles": Task(
        _("The present state of a character and their world."), ("subject", "transcript"), ("names", "memories")
    ),
    "canon": Task(_("A character's history in three paragraphs."), ("memories",), ("subject", "arcs")),
    "continuity": Task(_("What a reply contradicts."), ("transcript", "facts")),
    "repair": Task(_("A note that resolves a contradiction."), ("issues",), ("facts",)),
}

PLAIN_TASKS = frozenset({"plain", "plainest"})  # of small models, whose prompts have no marks and no numbers

PLACEHOLDER_MEANINGS: Mapping[str, Words] = {
    "transcript": _("the messages, numbered, between marks"),
    "known": _("entries that are already known"),
    "participants": _("the names of all participants"),
    "names": _("the names that may be used"),
    "per_kind": _("the maximum number of lines of each kind"),
    "subject": _("the name of the character"),
    "memories": _("the memories"),
    "entries": _("the memories that may be merged, numbered"),
    "kind": _("the kind of these memories"),
    "pairs": _("pairs of an older and a newer memory, numbered"),
    "forms": _("the forms of lines that the tiers ask for"),
    "knowledge": _("entries about who knows what, numbered"),
    "relationships": _("how people stand to each other"),
    "earlier": _("messages before the new ones, which have been read already"),
    "questions": _("the questions, each with what it is about"),
    "language": _("the language of the conversation"),
    "summary": _("the summary so far"),
    "number": _("the number of the message in question"),
    "open": _("the open threads, numbered"),
    "arc": _("the arc that was resolved"),
    "scenes": _("recaps of scenes, the oldest first"),
    "entities": _("the entities, with their known state"),
    "arcs": _("summaries of resolved arcs"),
    "facts": _("the known facts, numbered"),
    "issues": _("the contradictions that were found"),
}
