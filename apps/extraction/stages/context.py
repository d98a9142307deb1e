"""Context of a stage: the run, its settings and model, and the window of messages that it reads."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any
from uuid import UUID

import numpy as np

from apps.chats.models import Character, Chat, Message, Participant
from apps.common import jobs
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

MAX_STORED_REPLY = 200_000  # characters of a reply that are stored
MIN_RETRY_TOKENS = 2048  # room for the thoughts of a reasoning model, which count towards the limit
MIN_TOKEN_BUDGET = 500  # minimum tokens for messages, however small the context


@dataclass(frozen=True)
class Window:
    """Consecutive messages that a step reads. Hidden and empty ones count as read but have no turn."""

    messages: Sequence[Message]

    @cached_property
    def key(self) -> str:
        """Return a hash of the messages' ids and fingerprints."""
        return window_key(self.messages)

    @cached_property
    def turns(self) -> dict[int, Message]:
        """Return the visible messages by index, which is the number that the model sees."""
        return {message.index: message for message in self.messages if not message.is_system and message.mes.strip()}


def turns_material(turns: Mapping[int, Message]) -> list[dict[str, Any]]:
    """Return turns as the template values of prompts."""
    return [
        {"number": number, "speaker": turn.name, "is_user": turn.is_user, "text": turn.mes}
        for number, turn in turns.items()
    ]


@dataclass
class StageOutcome:
    """Result of a stage. ``write`` stores it, in the transaction that ends the step, and returns counts of its rows.

    ``unused`` are lines of the reply that could not be used.
    """

    write: Callable[[], Counter[str]] = Counter
    unused: Sequence[str] = ()


NO_OUTCOME = StageOutcome()


@dataclass
class Context:
    """State of a run while one worker executes it."""

    run: ExtractionRun
    settings: Settings
    backend: GenerationBackend
    stage: str = ""
    character: Character | None = None  # the character whose memories the stage writes
    position: int = 0  # index at which the current window begins; earlier messages that change are read last

    @property
    def chat(self) -> Chat:
        return self.run.chat

    @property
    def owner_id(self) -> Any:
        return self.run.owner_id

    @cached_property
    def participants(self) -> list[str]:
        """Return the names of all speakers of the chat, of its user and its character, sorted."""
        names = Message.objects.for_owner(self.owner_id).filter(chat=self.chat).values_list("name", flat=True)
        speakers = {*names.order_by().distinct(), self.chat.user_name}
        speakers |= {self.chat.character.name} if self.chat.character else set()
        return sorted(filter(None, speakers))

    @property
    def witness(self) -> Participant | None:
        """Return the character's participant, or None if witnesses are not told apart."""
        return participant_of(self.chat, self.character) if self.settings.witnesses_only else None

    def witnessed(self, turns: Mapping[int, Message]) -> dict[int, Message]:
        """Return the turns that the character witnessed; all of them outside a group."""
        if self.witness is None:
            return dict(turns)
        return witnessed_turns(turns, self.character, participants_of(self.chat))

    @property
    def token_budget(self) -> float:
        """Return the maximum number of tokens of messages in one prompt."""
        return max(self.settings.chunk_share * self.backend.context_tokens, MIN_TOKEN_BUDGET)

    @property
    def last_index(self) -> int:
        """Return the index of the last message that the run may read."""
        return runs.end_of_window(self.chat) - 1

    def resolved_arcs(self) -> int:
        """Return how many arcs the run has resolved so far."""
        # ``self.run`` was loaded when the run was claimed; finish_step updates the counts in the database only.
        resolved: int = ExtractionRun.objects.for_owner(self.owner_id).get(pk=self.run.pk).counts.get("resolved", 0)
        return resolved

    def ask(self, task: str, material: Mapping[str, Any], *, max_tokens: int = 800) -> str:
        """Return the model's reply, and store it unchanged. Raise GenerationFailed, ClaimLost.

        A reply that is cut off is requested once more with a higher limit: half a reply is not "nothing to remember".
        """
        messages = render(task, material, template_of(self.owner_id, task))
        completion = self._generate(GenerationRequest(task, messages, material, max_tokens))
        if completion.cut_off:
            max_tokens = max(2 * max_tokens, MIN_RETRY_TOKENS)
            completion = self._generate(GenerationRequest(task, messages, material, max_tokens))
        if completion.cut_off:
            raise GenerationFailed(f"The reply was cut off twice, the second time within {max_tokens} tokens.")
        return completion.text

    def _generate(self, request: GenerationRequest) -> Completion:
        heartbeat = partial(jobs.heartbeat, self.run)
        heartbeat()
        start = time.monotonic()
        try:
            completion = self.backend.generate(request, heartbeat)
        except GenerationFailed as error:
            partial_reply = Completion(error.partial, error.prompt_tokens, error.completion_tokens, error.reasoning)
            self._record_call(request.task, start, partial_reply, error.detail)
            raise
        self._record_call(request.task, start, completion, "The reply was cut off." if completion.cut_off else "")
        return completion

    def _record_call(self, task: str, start: float, completion: Completion, error: str) -> None:
        call = ModelCall(
            owner_id=self.owner_id,
            run=self.run,
            stage=self.stage,
            task=task,
            reply=completion.text[:MAX_STORED_REPLY],
            reasoning=completion.reasoning[:MAX_STORED_REPLY],
            error=error,
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
            seconds=time.monotonic() - start,
        )
        runs.record_call(self.run, call)

    def vectors(self, texts: Sequence[str]) -> tuple[np.ndarray | None, str]:
        """Return the texts' vectors and the name of their model; None and "" if embeddings are unavailable."""
        if not texts:
            return None, ""
        try:
            embedder = embedder_for(self.owner_id)
            return embedder.embed(texts), embedder.model
        except EmbeddingUnavailable:
            return None, ""

    def embed_memories(self, rows: Sequence[tuple[UUID, str]]) -> None:
        """Embed memories, given as (id, text), with the current model if it is available."""
        with suppress(EmbeddingUnavailable):
            if rows:
                embed_texts(Memory, self.owner_id, rows, embedder_for(self.owner_id))
