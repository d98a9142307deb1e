"""What there is to know about a task's template, for those who write their own. Pure."""

from dataclasses import asdict, dataclass
from typing import Any

from apps.extraction.prompts.rendering import PLACEHOLDERS, default_template, describe
from apps.extraction.prompts.tasks import MEANINGS


@dataclass(frozen=True)
class PlaceholderNote:
    name: str
    required: bool
    meaning: str


def placeholders_of(task: str) -> list[PlaceholderNote]:
    """The required ones first. Raises KeyError for an unknown task."""
    required, optional = PLACEHOLDERS[task]
    return [
        *(PlaceholderNote(name, True, MEANINGS[name]) for name in required),
        *(PlaceholderNote(name, False, MEANINGS[name]) for name in optional),
    ]


def prompt_document(task: str, own: str | None) -> dict[str, Any]:
    """The template as the HTTP contract has it; ``own`` is the user's, None where ours serves."""
    default = default_template(task).strip()
    return {
        "task": task,
        "description": describe(task),
        "text": default if own is None else own,
        "default": default,
        "is_own": own is not None,
        "placeholders": [asdict(note) for note in placeholders_of(task)],
    }
