"""Material with invented people for previews of templates. Without database access."""

from typing import Any

_DIALOGUE = (
    ("Alice", True, "The harbour is shut. Did you bring the chart, Mira?"),
    ("Mira", False, "I had it. Tom took it from my bag, and he thinks that I haven't noticed."),
    ("Alice", True, "Then we ask him tonight, at the mill."),
    ("Mira", False, "*She rubs her bandaged wrist.* Not tonight. Tomorrow, when the tide is out."),
)
TURNS = [
    {"number": number, "speaker": speaker, "is_user": is_user, "text": text}
    for number, (speaker, is_user, text) in enumerate(_DIALOGUE, 12)
]
NAMES = ["Alice", "Mira", "Tom"]
MEMORY_TEXTS = ["Mira draws the charts of the harbour.", "Tom lives at the mill."]
KNOWN_MEMORIES = [
    {"number": 1, "kind": "fact", "text": MEMORY_TEXTS[0]},
    {"number": 2, "kind": "relationship", "text": "Mira trusts Tom, her brother."},
]
KNOWLEDGE = [{"number": 1, "kind": "knows", "subject": "Tom", "target": "", "text": "The harbour is shut."}]
RELATIONSHIPS = [{"subject": "Mira", "target": "Tom", "descriptors": [{"word": "trusting", "magnitude": "high"}]}]
ENTITIES = [
    {"name": "Mira", "type": "character", "fields": {"location": "the quay"}},
    {"name": "Chart", "type": "object", "fields": {"owner": "Mira"}},
]
# The material of a task, by placeholder, where the task has no other.
MATERIAL: dict[str, Any] = {
    "turns": TURNS,
    "participants": NAMES,
    "names": NAMES,
    "subject": "Mira",
    "language": "English",
    "per_kind": 2,
    "kind": "fact",
    "known": KNOWN_MEMORIES,
    "memories": MEMORY_TEXTS,
    "entries": [
        {"number": 1, "text": MEMORY_TEXTS[0]},
        {"number": 2, "text": "Mira is the one who makes the harbour's charts."},
    ],
    "pairs": [{"number": 1, "old": "Mira has the chart.", "new": "Tom took the chart from Mira's bag."}],
    "summary": "1. Scene and setting: the quay, at dusk",
    "scenes": ["On the quay, Mira says that Tom took the chart.", "At the mill, Tom gives it back."],
    "open": [{"number": 1, "text": "Who shut the harbour?"}],
    "arc": "Who took the chart?",
    "arcs": ["Tom gave the chart back, and told why."],
    "entities": ENTITIES,
    "knowledge": KNOWLEDGE,
    "relationships": RELATIONSHIPS,
    "issues": ["Tom lives at the mill, yet he never set foot in it."],
    "facts": ["Tom lives at the mill."],
}
