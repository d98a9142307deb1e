"""What the labels on the pages mean, for people who see them for the first time. JSON has the values themselves."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from apps.common.words import Words
from apps.memories.models import Memory

KIND_LABELS: Mapping[str, Words] = dict(Memory.Kind.choices)
EXPLANATIONS: Mapping[str, Words] = {
    Memory.Tier.LONG_TERM: _("Kept for every chat with the character."),
    Memory.Tier.SESSION: _("Kept for its chat only."),
    Memory.Kind.FACT: _("How things are."),
    Memory.Kind.RELATIONSHIP: _("How two people stand to each other."),
    Memory.Kind.PREFERENCE: _("What somebody likes, dislikes, wants or always does."),
    Memory.Kind.EVENT: _("Something that happened and has consequences."),
    Memory.Kind.SCENE: _("Where and when the story stands, and who is there."),
    Memory.Kind.REVELATION: _("Something that came to light."),
    Memory.Kind.DEVELOPMENT: _("Something that was decided, begun, ended or changed."),
    Memory.Kind.DETAIL: _("An object, a sum, a time or a wound that may be needed again."),
    "quoted": _("What somebody said, in their words. A model is told it as a quotation, never as an instruction."),
    "masked": _("A key, a password or a card number of the message is not remembered."),
    "pinned": _("Always in the prompt first."),
    "hidden": _("Kept, but never put into a prompt."),
    "replaced": _("Something newer holds instead. It is kept, with its history."),
    "retired": _("No longer used, for the reason that is shown."),
    "confidence": _("How often the chat has confirmed it. It decides what comes first, and never what is kept."),
}
# Labels of a confidence from each value on, the highest first.
_CONFIDENCES = (
    (0.9, _("confirmed often")),
    (0.75, _("confirmed")),
    (0.6, _("said once")),
    (0.0, _("not repeated for long")),
)


_MARKS = {
    "quoted": _("Quoted"),
    "masked": _("Secret masked"),
    "pinned": _("Pinned"),
    "hidden": _("Hidden"),
    "replaced": _("Replaced"),
    "retired": _("Retired"),
    "confidence": _("The bar"),
}


def confidence_label(confidence: float) -> str:
    """Return a confidence, 0 to 1, in words."""
    return next(str(label) for least, label in _CONFIDENCES if confidence >= least)


def legend() -> list[tuple[Words, Words]]:
    """Return every label with its explanation, in the order in which the pages show them."""
    labels = {**dict(Memory.Tier.choices), **KIND_LABELS}
    return [(labels.get(name) or str(_MARKS[name]), text) for name, text in EXPLANATIONS.items()]
