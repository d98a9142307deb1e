"""What a step of a run is given, and what it returns: the context, a window of messages, and the outcome."""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any
from uuid import UUID

from django.utils import timezone

from apps.chats.dates import day_of
from apps.chats.models import Character, Chat, Message, Participant
from apps.common.problems import Missing
from apps.extraction.models import ExtractionRun
from apps.extraction.progress import end_of_window, state_of, window_key
from apps.extraction.settings.schema import Settings
from apps.extraction.steps.asking import Answer, Asker
from apps.extraction.steps.dictation import with_quotations
from apps.extraction.steps.turns import with_text
from apps.llm.generation import BUILTIN, GenerationBackend
from apps.memories.masking import masked
from apps.memories.witnesses import participant_of, participants_of, witnessed_turns

MIN_EARLIER = 6  # messages before a window
MIN_TOKEN_BUDGET = 500  # minimum tokens for messages, however small the context

Write = Callable[[], Counter[str]]  # stores rows and returns counts of them


@dataclass(frozen=True)
class Window:
    """Consecutive messages that a step reads. Empty ones count as read but have no turn.

    Of a message that is too long for one prompt, the only one in its window, ``part`` is the text that the step reads
    and ``number`` the number of that part. ``is_last``: the messages are read to their end after this window.
    """

    messages: Sequence[Message]
    part: str | None = None
    number: int = 0
    is_last: bool = True

    @cached_property
    def key(self) -> str:
        """Return a hash of the messages' ids and fingerprints, and of the part."""
        return window_key(self.messages, "" if self.part is None else f"{self.number}:{self.part}")

    @cached_property
    def turns(self) -> dict[int, Message]:
        """Return the messages by index, which is the number that the model sees."""
        turns = {message.index: message for message in self.messages if message.mes.strip()}
        return turns if self.part is None else {n: with_text(turn, self.part) for n, turn in turns.items()}


def turns_material(
    turns: Mapping[int, Message], *, dates: bool = False, zone: dt.tzinfo = dt.UTC
) -> list[dict[str, Any]]:
    """Return turns as the template values of prompts, with ``dates`` also the day on which each was sent, if known.

    Days are those of the time ``zone``. Secrets are masked: what no extractor reads, none remembers.
    """
    return [
        {
            "number": number,
            "speaker": turn.name,
            "is_user": turn.is_user,
            "text": masked(turn.mes),
            "date": day_of(turn.sent_at, zone) if dates and turn.sent_at else None,
        }
        for number, turn in turns.items()
    ]


@dataclass
class StageOutcome:
    """Result of a stage. Each of the ``writes`` stores a part of it and returns counts of its rows.

    ``runs/pipeline.py`` calls them in the transaction that ends the step, since nothing is locked while a model is
    asked. ``unused`` are lines of the reply that could not be used. ``error`` says why the model refused to read
    the window.
    """

    writes: Sequence[Write] = ()
    unused: Sequence[str] = ()
    error: str = ""


NO_OUTCOME = StageOutcome()


@dataclass
class StepNotes:
    """What a step tells besides its outcome: whatever it asks, however deep, adds to it.

    ``unused`` are lines of replies to what a stage asks besides, such as pairs and trigger words, that could not be
    used. ``counts`` are those besides the counts of what it writes. ``also_read`` are messages that it reads after its
    window, which must not change while a model is asked.
    """

    unused: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    also_read: list[Message] = field(default_factory=list)


@dataclass(frozen=True)
class Context:
    """What is known to a step of a run: the chat and its people, the settings, and which messages the step has read.

    ``ask`` asks the model. ``reading`` are the answers of one call that has read the window for all tiers, by form of
    lines; None if each tier asks for itself.
    """

    run: ExtractionRun
    settings: Settings
    ask: Asker
    # A small model, which is asked plain questions alone; ``ask`` then asks the built-in one, which does the rest.
    small: GenerationBackend | None = None
    reading: Mapping[str, Answer] | None = None
    character: Character | None = None  # the character whose memories the stage writes
    tiers: Set[str] = frozenset()  # those of the run that have not read the window
    # The state that the step has read: the chat's rev, its last index to read, what was withheld, when the step began.
    read_rev: int = 0
    read_to: int = -1
    read_without: Set[UUID] = frozenset()
    step_began: dt.datetime = field(default_factory=timezone.now)
    notes: StepNotes = field(default_factory=StepNotes)
    looked_up: dict[str, list[str]] = field(default_factory=dict)  # once a run

    def of_member(self, member: Character | None) -> "Context":
        """Return the context for a member's memories, or the chat's character's. The step is the same."""
        return replace(self, character=member or self.chat.character)

    def at_step(
        self, stage: str, member: Character | None, window: Window, watch: Callable[["Context", Window], None]
    ) -> "Context":
        """Return the context of a step of a stage that begins now. ``watch`` is called during its calls."""
        began = timezone.now()
        state = state_of(self.owner_id, self.run.chat_id)
        if state is None:
            raise Missing("There is no such chat.")
        read_rev, withheld = state
        context = replace(
            self.of_member(member),
            ask=replace(self.ask, stage=stage),
            read_rev=read_rev,
            read_to=window.messages[-1].index if window.messages else self.last_index,
            # A message of the window that was withheld since it was loaded isn't left out: the step ends before its
            # call.
            read_without=withheld - {message.pk for message in window.messages},
            step_began=began,
            notes=StepNotes(),
        )
        return replace(context, ask=replace(context.ask, watch=partial(watch, context, window)))

    @property
    def backend(self) -> GenerationBackend:
        return self.ask.backend

    @property
    def chat(self) -> Chat:
        return self.run.chat

    @property
    def character_id(self) -> UUID | None:
        return self.character.pk if self.character else None

    @property
    def owner_id(self) -> Any:
        return self.run.owner_id

    @property
    def zone(self) -> dt.tzinfo:
        """Return the owner's time zone, in which "yesterday" is meant."""
        return self.run.owner.zone

    @property
    def participants(self) -> list[str]:
        """Return the names of all speakers and members of the chat, of its user and its character, sorted."""
        if "participants" not in self.looked_up:
            names = Message.objects.for_owner(self.owner_id).filter(chat=self.chat).values_list("name", flat=True)
            speakers = {*names.order_by().distinct(), self.chat.user_name}
            speakers |= {self.chat.character.name} if self.chat.character else set()
            speakers |= {member.name for member in participants_of(self.chat)}
            self.looked_up["participants"] = sorted(filter(None, speakers))
        return self.looked_up["participants"]

    @property
    def witness(self) -> Participant | None:
        """Return the character's participant, or None if witnesses are not told apart."""
        return participant_of(self.chat, self.character) if self.settings.witnesses_only else None

    def witnessed(self, turns: Mapping[int, Message]) -> dict[int, Message]:
        """Return the turns that the character witnessed; all of them outside a group."""
        if not self.settings.witnesses_only:
            return dict(turns)
        return witnessed_turns(turns, self.character, participants_of(self.chat))

    @property
    def earlier_count(self) -> int:
        """Return the number of messages before a window that a reading shows for reference."""
        return max(MIN_EARLIER, 2 * self.settings.extract_every)

    @property
    def token_budget(self) -> float:
        """Return the maximum number of tokens of messages in one prompt."""
        return max(self.settings.chunk_share * self.backend.context_tokens, MIN_TOKEN_BUDGET)

    @property
    def is_requested(self) -> bool:
        """Return whether the run is for the tier of this stage alone, as a person asks for."""
        return bool(self.run.tiers == [self.ask.stage])

    @property
    def has_model(self) -> bool:
        """Return whether a language model is connected, in place of the built-in extractor."""
        return self.backend.name != BUILTIN

    @property
    def last_index(self) -> int:
        """Return the index of the last message that the run may read."""
        return end_of_window(self.chat) - 1

    def attributed(self, text: str, material: Mapping[str, Any]) -> str:
        """Return what a model wrote, with the words of its material as quotations. The built-in one has its own."""
        return with_quotations(text, material, self.participants) if self.has_model else text
