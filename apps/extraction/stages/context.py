"""What a stage works with: the run, what holds for its chat, the model to ask, and the messages that it reads."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np

from apps.chats.models import Character, Chat, Message, Participant
from apps.extraction import runs
from apps.extraction.embedding_jobs import embed_texts
from apps.extraction.models import ExtractionRun, ModelCall
from apps.extraction.progress import window_key
from apps.extraction.prompts.overrides import template_of
from apps.extraction.prompts.rendering import render
from apps.extraction.settings.schema import Settings
from apps.llm.backends import embedder_for
from apps.llm.embeddings import EmbeddingUnavailable
from apps.llm.generation import Completion, GenerationBackend, GenerationFailed, GenerationRequest
from apps.memories.models import Memory
from apps.memories.witnesses import participant_of, participants_of, witnessed_turns

MAX_RAW = 200_000  # characters of a reply that are kept
LEAST_ROOM = 500  # tokens, however small the context


@dataclass(frozen=True)
class Window:
    """Messages that a step reads, in order; hidden and empty ones are read, and tell nothing."""

    messages: Sequence[Message]

    @cached_property
    def key(self) -> str:
        return window_key(self.messages)

    @cached_property
    def turns(self) -> dict[int, Message]:
        """What the messages tell, by the number under which a model is shown each."""
        return {message.index: message for message in self.messages if not message.is_system and message.mes.strip()}

    def material(self) -> list[dict[str, Any]]:
        return turns_material(self.turns)


def turns_material(turns: Mapping[int, Message]) -> list[dict[str, Any]]:
    """Turns as tasks of a model take them."""
    return [
        {"number": number, "speaker": turn.name, "is_user": turn.is_user, "text": turn.mes}
        for number, turn in turns.items()
    ]


@dataclass
class Outcome:
    """What a stage found. ``write`` stores it, within the transaction that closes the step, and counts it."""

    write: Callable[[], Counter[str]] = Counter
    unused: Sequence[str] = ()


NOTHING = Outcome()


@dataclass
class Context:
    """One worker's hold on a run."""

    run: ExtractionRun
    settings: Settings
    backend: GenerationBackend
    stage: str = ""
    character: Character | None = None  # for whom a group's stage is done
    position: int = 0  # where the window under way begins; what is new before it is looked for in the end

    @property
    def chat(self) -> Chat:
        return self.run.chat

    @property
    def owner_id(self) -> Any:
        return self.run.owner_id

    @cached_property
    def participants(self) -> list[str]:
        """The names of all who speak in the chat."""
        names = Message.objects.for_owner(self.owner_id).filter(chat=self.chat).values_list("name", flat=True)
        everybody = {*names.order_by().distinct(), self.chat.user_name}
        everybody |= {self.chat.character.name} if self.chat.character else set()
        return sorted(filter(None, everybody))

    @property
    def witness(self) -> Participant | None:
        """As whom the character takes part, where members know only what they witnessed."""
        return participant_of(self.chat, self.character) if self.settings.witnesses_only else None

    def witnessed(self, turns: Mapping[int, Message]) -> dict[int, Message]:
        """The turns that the character witnessed; all of them where there is no group."""
        if self.witness is None:
            return dict(turns)
        return witnessed_turns(turns, self.character, participants_of(self.chat))

    @property
    def room(self) -> float:
        """Tokens of messages that a model may be shown at once."""
        return max(self.settings.chunk_share * self.backend.context_tokens, LEAST_ROOM)

    @property
    def last_index(self) -> int:
        """The index of the last message that the run may read."""
        return runs.end_of_window(self.chat) - 1

    def resolved_arcs(self) -> int:
        """How many arcs the run has closed so far."""
        resolved: int = ExtractionRun.objects.for_owner(self.owner_id).get(pk=self.run.pk).counts.get("resolved", 0)
        return resolved

    def watch(self) -> None:
        """Called while a model is at work: a sign of life. Raises ClaimLost."""
        runs.beat(self.run)

    def ask(self, task: str, material: Mapping[str, Any], *, max_tokens: int = 800) -> str:
        """The model's reply, which is kept as it came. Raises GenerationFailed, ClaimLost."""
        messages = render(task, material, template_of(self.owner_id, task))
        request = GenerationRequest(task, messages, material, max_tokens)
        self.watch()
        begun = time.monotonic()
        try:
            completion = self.backend.generate(request, self.watch)
        except GenerationFailed as error:
            self._note_call(task, begun, _partial_of(error), error.detail)
            raise
        self._note_call(task, begun, completion, "")
        return completion.text

    def _note_call(self, task: str, begun: float, completion: Completion, error: str) -> None:
        call = ModelCall(
            owner_id=self.owner_id,
            run=self.run,
            stage=self.stage,
            task=task,
            reply=completion.text[:MAX_RAW],
            reasoning=completion.reasoning[:MAX_RAW],
            error=error,
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
            seconds=time.monotonic() - begun,
        )
        runs.note_call(self.run, call)

    def vectors(self, texts: Sequence[str]) -> tuple[np.ndarray | None, str]:
        """The texts' vectors and the model that made them, or None where embeddings are unavailable."""
        if not texts:
            return None, ""
        try:
            embedder = embedder_for(self.owner_id)
            return embedder.embed(texts), embedder.model
        except EmbeddingUnavailable:
            return None, ""

    def bring_vectors(self, rows: Sequence[tuple[UUID, str]]) -> None:
        """Give memories, each as (id, text), vectors by the present model, where it can be had."""
        with suppress(EmbeddingUnavailable):
            if rows:
                embed_texts(Memory, self.owner_id, rows, embedder_for(self.owner_id))


def _partial_of(error: GenerationFailed) -> Completion:
    """What had come of a reply that failed."""
    return Completion(error.partial, error.prompt_tokens, error.completion_tokens, error.reasoning)
