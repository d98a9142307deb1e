"""English words: stems, classes, synonyms and opposites. Pure."""

from apps.english.lexicon.forms import stem
from apps.english.lexicon.relations import alike, members, opposite

__all__ = ["alike", "members", "opposite", "stem"]
