"""What a prompt is asked for, by whatever page, API or client."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol
from uuid import UUID

from apps.chats.models import Character, Chat
from apps.chats.queries.replying import reply_model
from apps.llm.tokens import token_counter
from apps.prompts.filling.plan import CountFunction
from apps.prompts.settings.schema import PromptSettings


class PresetTexts(Protocol):
    """The texts of a generation preset that stand in a prompt, with macros."""

    system_prompt: str
    post_history_instructions: str


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The reply that a whole prompt asks a model for: with the card, the persona, lorebooks and instructions.

    ``tokens`` of the context are kept free for it. ``instruction`` comes last. ``for_user``: the user's next message is
    to be written, with nothing that the character hides.
    """

    preset: PresetTexts | None = None
    tokens: int = 0
    instruction: str = ""
    for_user: bool = False


@dataclass(frozen=True, kw_only=True)
class PromptRequest:
    """A prompt for the turn with ``text``, or for the last one, of at most ``context_tokens`` tokens.

    ``character`` speaks. Without ``settings``, those of the chat apply. What stands in it besides memory: with a
    ``reply`` all that a model reads, else with ``has_history`` the conversation. ``sent_ids`` are those of the messages
    that a client sends itself, with a card of its own; ``texts`` are further texts of the caller in which macros may
    stand. ``again``: the reply takes the place of the last message, which is left out, and what was recalled for
    the first one is used again. Without ``leave_trace`` nothing is stored. ``model`` is the name of the one that reads
    the prompt; None means the one that replies in the chat.
    """

    chat: Chat
    context_tokens: int
    text: str | None = None
    character: Character | None = None
    settings: PromptSettings | None = None
    reply: Reply | None = None
    has_history: bool = False
    sent_ids: Collection[UUID] | None = None
    texts: Sequence[str] = ()
    again: bool = False
    leave_trace: bool = True
    model: str | None = None

    @property
    def shows_history(self) -> bool:
        """Return whether the conversation stands in the prompt."""
        return self.reply is not None or self.has_history

    @property
    def room(self) -> int:
        """Return the tokens of the context that a reply leaves to the prompt."""
        return self.context_tokens - (self.reply.tokens if self.reply else 0)

    @cached_property
    def reader(self) -> str:
        """Return the name of the model that reads the prompt, or "" without one."""
        return reply_model(self.chat) if self.model is None else self.model

    @cached_property
    def count(self) -> CountFunction:
        """Return the function that counts the tokens of a text for that model."""
        return token_counter(self.reader)
