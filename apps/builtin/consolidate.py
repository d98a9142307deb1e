"""The task ``consolidate``: entries that say nearly the same become the one that says most."""

from collections.abc import Mapping
from typing import Any

from apps.builtin.likeness import is_held_by
from apps.extraction.parsers.merges import MergeLine, print_merge
from apps.llm.generation import GenerationRequest
from apps.memories.wording import content_words


def consolidate(request: GenerationRequest) -> str:
    """A line for each group of entries of which one holds all the others; its text stays as it is."""
    groups: list[list[Mapping[str, Any]]] = []
    for entry in sorted(request.material["entries"], key=lambda one: -len(content_words(one["text"]))):
        group = next((group for group in groups if is_held_by(entry["text"], group[0]["text"])), None)
        if group is None:
            groups.append([entry])
        else:
            group.append(entry)
    lines = [
        MergeLine(tuple(sorted(entry["number"] for entry in group)), group[0]["text"]) for group in groups if group[1:]
    ]
    return "\n".join(map(print_merge, sorted(lines, key=lambda line: line.numbers))) or "NONE"
