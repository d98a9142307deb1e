"""What a tier declares: one kind of what is kept of a chat, in one module."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.chats.models import Message
from apps.extraction.parsers.records import ParsedLines, Record
from apps.extraction.prompts.task import Task
from apps.extraction.steps.asking import Answer
from apps.extraction.steps.context import Context, StageOutcome, Window

Run = Callable[[Context, Window], StageOutcome]
RunFromReading = Callable[[Context, Window, Answer], StageOutcome]
Parse = Callable[[str], ParsedLines[Any]]


def as_written(record: Record) -> str:
    """Return a record as a line with its tag."""
    return f"[{record.tag}] {record.text}"


@dataclass(frozen=True)
class ShownEntries:
    """What a call that reads for all tiers shows of a tier's entries, in the placeholder ``name``.

    ``entries`` returns them as template values, of which those with an "id" may be cited by their "number". Those that
    fit into ``max_tokens`` are shown.
    """

    name: str
    entries: Callable[[Context, Mapping[int, Message]], Sequence[Mapping[str, Any]]]
    max_tokens: int


@dataclass(frozen=True)
class Form:
    """Form of lines that a call asks for with those of other tiers, by a ``part`` of the template of ``task``.

    The first part asks for the lines of the task, later ones add to it. ``parse`` and ``line_pattern`` are those of the
    task unless given; ``line_of`` returns a line of the reply as ``parse`` reads it; ``untagged`` matches lines that
    need no tag. ``only_in_groups``: the form is for chats with several characters.
    """

    name: str
    task: Task
    part: int = 1
    parse: Parse | None = None
    line_pattern: str = ""
    line_of: Callable[[Record], str] = as_written
    untagged: re.Pattern[str] | None = None
    only_in_groups: bool = False
    known: ShownEntries | None = None

    def parsed(self, reply: str) -> ParsedLines[Any]:
        """Return the lines of a reply that has only those of this form."""
        parse = self.parse or self.task.parse
        return parse(reply) if parse else ParsedLines()

    @property
    def pattern(self) -> str:
        """Return the pattern of a line, "" if there is none."""
        return (self.line_pattern or self.task.line_pattern) if self.part == 1 else ""


@dataclass(frozen=True)
class Tier:
    """Tier: what it asks a model, how the replies are read, and what becomes of them.

    ``name`` is that of its setting, of its stage, and in the progress of messages. ``run`` reads a window, or, of a
    tier that reads no messages, the chat as a whole, and returns what to write; if ``per_member``, it is called for
    each character of a group. It asks the first of the ``tasks``, and does not run if nothing can answer that.
    ``merge`` runs afterwards, as a stage of its own, and reads no messages.

    ``forms`` are its lines in the one call that reads a window for all tiers. There ``from_reading`` takes the place of
    ``run``: it is given those of the form with the tier's name, and the ids of the entries that were shown with it.
    A tier that ``has_memories`` needs none: its lines are memories, which are compared with known ones.
    Without forms, a tier has its stage in every run. ``comes_last``: its forms stand after those of the other tiers.
    """

    name: str
    run: Run
    tasks: Sequence[Task]
    per_member: bool = False
    merge: Run | None = None
    forms: Sequence[Form] = ()
    from_reading: RunFromReading | None = None
    comes_last: bool = False
    has_memories: bool = False

    def __post_init__(self) -> None:
        if self.forms and not self.has_memories and self.from_reading is None:
            raise ValueError(f"The lines of {self.name} would be asked for and not used.")
