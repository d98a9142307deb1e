"""What a model is asked to do. Without database access."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from django.utils.functional import SimpleLazyObject

from apps.common.on_demand import on_demand
from apps.common.words import Words
from apps.extraction.parsers.records import ParsedLines
from apps.extraction.prompts.examples import MATERIAL

TEMPLATES = Path(__file__).parent.parent / "tiers" / "templates"
# Parts of patterns of lines, for servers that can enforce them; ``apps.llm.replies.constrained`` says what they may
# contain. They say less than the parsers check: a model that is held to too narrow a form writes what fits it instead
# of what is meant.
TEXT_PATTERN = r'[^"\\]+'
NAME_PATTERN = r'[^"\\\[\]|:]+'


@dataclass(frozen=True)
class Task:
    """Task of a language model, whose template is NAME.md in ``folder``.

    ``required`` placeholders must occur in the template, ``optional`` ones may. ``max_tokens`` are those of a reply,
    ``is_usable`` tells whether one has the form that was asked for. If lines are asked for, ``words`` begin their tags,
    the usual one first, ``parse`` reads them, and ``line_pattern`` is for servers that can enforce one. Material for
    previews is that of all tasks, and the ``example`` of this one, or what it returns.

    ``is_plain``: the prompt is for small models, without marks and numbers; ``shown`` is then an earlier exchange as
    (material, reply), which they follow better than instructions.
    """

    name: str
    description: Words
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    max_tokens: int = 800
    is_usable: Callable[[str], bool] = bool
    words: Sequence[str] = ()
    parse: Callable[[str], ParsedLines[Any]] | None = None
    line_pattern: str = ""
    example: Mapping[str, Any] | Callable[[], Mapping[str, Any]] = field(default_factory=dict)
    folder: Path = TEMPLATES
    is_plain: bool = False
    shown: tuple[Mapping[str, Any], str] | None = None

    @property
    def preview_material(self) -> Mapping[str, Any]:
        """Return the material for previews of the template."""
        used = {*self.required, *self.optional, "turns" if "transcript" in self.required else ""}
        example = self.example() if callable(self.example) else self.example
        return {**{name: value for name, value in MATERIAL.items() if name in used}, **example}


# All tasks by name, in the order of pages. The tiers declare theirs, and are loaded when a task is first looked up.
TASKS = cast(Mapping[str, Task], SimpleLazyObject(on_demand("apps.extraction.reading.stages:all_tasks")))


def any_line_of(patterns: Iterable[str]) -> str:
    """Return the pattern of a line that matches one of ``patterns``, "" without any."""
    known = [pattern for pattern in patterns if pattern]
    return f"^({'|'.join(known)})$" if known else ""
