"""The author's note of a chat: a text at a depth of every prompt, in the keys of metadata that SillyTavern uses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DEFAULT_DEPTH = 4


@dataclass(frozen=True)
class Note:
    """An author's note. ``depth`` is the number of messages that follow it."""

    text: str = ""
    depth: int = DEFAULT_DEPTH

    def metadata_patch(self) -> dict[str, Any]:
        """Return the merge patch that sets the note in a chat's metadata."""
        return {"note_prompt": self.text or None, "note_depth": self.depth}


def note_of(metadata: Mapping[str, Any]) -> Note:
    """Return the note in a chat's metadata. Values of other types count as missing."""
    text, depth = metadata.get("note_prompt"), metadata.get("note_depth")
    if not isinstance(depth, int) or isinstance(depth, bool) or depth < 0:
        depth = DEFAULT_DEPTH
    return Note(text if isinstance(text, str) else "", depth)
