"""What is known of English words: forms, classes, and which mean the same or exclude each other. Pure."""

from apps.memories.lexicon.forms import inflections, stem, verbs
from apps.memories.lexicon.relations import alike, members, opposite

__all__ = ["alike", "inflections", "members", "opposite", "stem", "verbs"]
