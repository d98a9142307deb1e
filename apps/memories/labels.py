"""What the labels on the pages mean, for people who see them for the first time. JSON has the values themselves."""

from collections.abc import Mapping

from apps.memories.models import Memory

KIND_LABELS: Mapping[str, str] = dict(Memory.Kind.choices)
EXPLANATIONS: Mapping[str, str] = {
    Memory.Tier.LONG_TERM: "Kept for every chat with the character.",
    Memory.Tier.SESSION: "Kept for its chat only.",
    Memory.Kind.FACT: "How things are.",
    Memory.Kind.RELATIONSHIP: "How two people stand to each other.",
    Memory.Kind.PREFERENCE: "What somebody likes, dislikes, wants or always does.",
    Memory.Kind.EVENT: "Something that happened and has consequences.",
    Memory.Kind.SCENE: "Where and when the story stands, and who is there.",
    Memory.Kind.REVELATION: "Something that came to light.",
    Memory.Kind.DEVELOPMENT: "Something that was decided, begun, ended or changed.",
    Memory.Kind.DETAIL: "An object, a sum, a time or a wound that may be needed again.",
    "pinned": "Always in the prompt first.",
    "hidden": "Kept, but never put into a prompt.",
    "replaced": "Something newer holds instead. It is kept, with its history.",
    "retired": "No longer used, for the reason that is shown.",
    "confidence": "How often the chat has confirmed it. It decides what comes first, and never what is kept.",
}
# Labels of a confidence from each value on, the highest first.
_CONFIDENCES = ((0.9, "confirmed often"), (0.75, "confirmed"), (0.6, "said once"), (0.0, "not repeated for long"))


def confidence_label(confidence: float) -> str:
    """Return a confidence, 0 to 1, in words."""
    return next(label for least, label in _CONFIDENCES if confidence >= least)


def legend() -> list[tuple[str, str]]:
    """Return every label with its explanation, in the order in which the pages show them."""
    labels = {**dict(Memory.Tier.choices), **KIND_LABELS}
    own = {"confidence": "The bar"}
    return [(labels.get(name) or own.get(name) or name.capitalize(), text) for name, text in EXPLANATIONS.items()]
