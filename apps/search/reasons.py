"""Describe why a search found a result."""

from collections.abc import Mapping

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

MIN_SIMILARITY = 0.25  # lower cosines of all-MiniLM-L6-v2 are noise
LEAST_SHOWN = 0.01
SIGNAL_LABELS = {
    "lexical": _("shares its words"),
    "subject": _("about the person asked for"),
    "time": _("of the time asked for"),
    "graph": _("shares names"),
}


def describe_signals(signals: Mapping[str, float]) -> str:
    """Describe the main signals of a result: "similar .71 · shares its words". Without any it is empty.

    A result without a strong signal of its own is described by what stands around it, or by a weak likeness.
    """
    similarity = signals.get("vector", 0)
    reasons = [_likeness(similarity)] if similarity >= MIN_SIMILARITY else []
    reasons += [str(label) for name, label in SIGNAL_LABELS.items() if signals.get(name, 0) > 0]
    if not reasons and _is_near_match(signals):
        reasons = [gettext("near a match")]
    elif not reasons and similarity >= LEAST_SHOWN:
        reasons = [_likeness(similarity)]
    return " · ".join(reasons)


def _is_near_match(signals: Mapping[str, float]) -> bool:
    """Return whether the turns around a message match, or the question that it answers."""
    is_similar = signals.get("window_vector", 0) >= MIN_SIMILARITY
    return is_similar or signals.get("window_lexical", 0) > 0 or signals.get("answer", 0) > 0


def _likeness(similarity: float) -> str:
    return gettext("similar %(likeness)s") % {"likeness": f"{similarity:.2f}".removeprefix("0")}
