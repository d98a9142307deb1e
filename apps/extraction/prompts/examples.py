"""Example material for every task, with invented people, for previews of templates. Without database access."""

from collections.abc import Mapping
from typing import Any

from apps.extraction.prompts.rendering import join_blocks

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
KNOWN_MEMORIES = [
    {"number": 1, "kind": "fact", "text": "Mira draws the charts of the harbour."},
    {"number": 2, "kind": "relationship", "text": "Mira trusts Tom, her brother."},
]
PAIRS = [{"number": 1, "old": "Mira has the chart.", "new": "Tom took the chart from Mira's bag."}]
FORMS = ("scenes", "session", "long_term", "relationships", "arcs", "ledger", "epistemic")
_MEMORY_TEXTS = ["Mira draws the charts of the harbour.", "Tom lives at the mill."]
_BASE_MATERIAL = {"turns": TURNS, "participants": NAMES, "per_kind": 2, "known": KNOWN_MEMORIES}

EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "session": _BASE_MATERIAL | {"subject": ""},
    "long_term": _BASE_MATERIAL | {"subject": "Mira"},
    "triggers": {"memories": KNOWN_MEMORIES},
    "relationships": {
        "turns": TURNS,
        "names": NAMES,
        "known": [{"subject": "Mira", "target": "Tom", "descriptors": [{"word": "trusting", "magnitude": "high"}]}],
    },
    "consolidate": {
        "tier": "long_term",
        "kind": "fact",
        "entries": [
            {"number": 1, "text": "Mira draws the charts of the harbour.", "consolidated": True},
            {"number": 2, "text": "Mira is the one who makes the harbour's charts.", "consolidated": False},
        ],
    },
    "pairs": {"pairs": PAIRS},
    "reading": {
        "forms": "\n\n".join(join_blocks("forms", [(form, {"subject": "Mira", "per_kind": 4})]) for form in FORMS),
        "turns": TURNS[2:],
        "earlier": TURNS[:2],
        "language": "English",
        "participants": NAMES,
        "memories": KNOWN_MEMORIES,
        "open": [{"number": 1, "text": "Who shut the harbour?"}],
        "entities": [{"name": "Mira", "type": "character", "fields": {"location": "the quay"}}],
        "knowledge": [{"number": 1, "kind": "knows", "subject": "Tom", "target": "", "text": "The harbour is shut."}],
        "relationships": [
            {"subject": "Mira", "target": "Tom", "descriptors": [{"word": "trusting", "magnitude": "high"}]}
        ],
    },
    "plain": {"turns": TURNS[1::2], "subject": "Mira", "names": NAMES[:1]},
    "plainest": {"turns": TURNS[1::2], "subject": "Mira", "names": NAMES[:1]},
    "review": {"questions": join_blocks("questions", [("pairs", {"pairs": PAIRS})])},
    "summary": {"summary": "1. Scene and setting: the quay, at dusk", "turns": TURNS, "known": _MEMORY_TEXTS},
    "scene_break": {"previous": TURNS[2], "turn": TURNS[3]},
    "scene_recap": {"turns": TURNS},
    "epistemic": {
        "turns": TURNS,
        "participants": NAMES,
        "known": [{"number": 1, "kind": "knows", "subject": "Tom", "target": "", "text": "The harbour is shut."}],
    },
    "arcs": {"turns": TURNS, "open": [{"number": 1, "text": "Who shut the harbour?"}]},
    "arc_summary": {
        "arc": "Who took the chart?",
        "scenes": ["On the quay, Mira says that Tom took the chart.", "At the mill, Tom gives it back."],
        "memories": ["Tom took the chart from Mira's bag."],
    },
    "ledger": {
        "turns": TURNS,
        "entities": [
            {"name": "Mira", "type": "character", "fields": {"location": "the quay"}},
            {"name": "Chart", "type": "object", "fields": {"owner": "Mira"}},
        ],
    },
    "profiles": {"subject": "Mira", "names": ["Alice", "Tom"], "memories": _MEMORY_TEXTS, "turns": TURNS},
    "canon": {"subject": "Mira", "arcs": ["Tom gave the chart back, and told why."], "memories": _MEMORY_TEXTS},
    "continuity": {
        "turn": {"number": 16, "speaker": "Mira", "is_user": False, "text": "My brother never set foot in the mill."},
        "facts": [{"number": 1, "text": "Tom lives at the mill."}],
    },
    "repair": {"issues": ["Tom lives at the mill, yet he never set foot in it."], "facts": ["Tom lives at the mill."]},
}
