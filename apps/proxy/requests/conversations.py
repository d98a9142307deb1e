"""Read the conversation in a request. Nothing here reads the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from apps.chats.models import Character
from apps.proxy.requests.folded_prompts import MEMBERS, unfolded
from apps.proxy.requests.nudges import after_next_reply
from apps.proxy.requests.speakers import NOBODY, Company, company_of, with_names
from apps.proxy.requests.texts import without_names
from apps.proxy.requests.turns import INSTRUCTION_ROLES, Turn, opening_of, text_of, turns_of


@dataclass(frozen=True)
class Conversation:
    """The conversation in a request.

    ``messages`` are as the client had them before it folded them for its server, ``turns`` what is said in them, and
    ``company`` who says it.
    """

    messages: Sequence[Mapping[str, Any]]
    turns: Sequence[Turn]
    company: Company

    @property
    def opening(self) -> str:
        """Return the text of the leading instructions."""
        return opening_of(self.messages)

    @property
    def common_opening(self) -> str:
        """Return what of the opening is the same whoever is asked to reply.

        SillyTavern sends each member of a group instructions of their own, besides a list of all members.
        """
        listed = next(filter(None, map(MEMBERS.search, self.instructions)), None)
        return listed[0] if listed else self.opening

    @property
    def instructions(self) -> list[str]:
        """Return the texts of all instructions."""
        return [text_of(message) for message in self.messages if message["role"] in INSTRUCTION_ROLES]

    @property
    def post_history(self) -> list[str]:
        """Return the paragraphs at the end that follow who replies next, for whichever member they are."""
        return [without_names(text, self.company.members) for text in after_next_reply(self.messages) or ()]


@dataclass(frozen=True, kw_only=True)
class ClientRequest:
    """What a client has sent and asks for, to be stored in its chat.

    ``opening`` is the text of the leading instructions, ``instructions`` are those of all. ``named`` is the chat that
    the client names. ``character`` was named by the client if ``is_named``, else guessed. ``follows``: what the client
    left out is deleted, however much it is. ``is_nudged``: an instruction asks for another reply after the last one.
    ``client`` is a hash of the token's id, ``instance`` the one that the token is bound to. ``company`` is who takes
    part.
    """

    turns: Sequence[Turn]
    opening: str = ""
    instructions: Sequence[str] = ()
    company: Company = NOBODY
    named: UUID | None = None
    character: Character | None = None
    is_named: bool = False
    follows: bool = False
    is_nudged: bool = False
    client: str = ""
    instance: str = ""

    @property
    def speaker(self) -> str:
        """Return the name of who replies, or nothing: in a group, the one whom the client names in any way."""
        character = self.character if self.company.is_group else None
        return self.company.speaker or (character.name if character else "")


def conversation_in(messages: Sequence[Mapping[str, Any]], character: str = "") -> Conversation:
    """Return the conversation in a request's messages. ``character`` is the name that its header has."""
    read, names = unfolded(messages, character)
    named = with_names(read, names)
    company = company_of(named, names)
    turns = turns_of(named)
    if not company.is_group:
        turns = [turn if turn.is_user or turn.name else replace(turn, name=company.speaker) for turn in turns]
    return Conversation(named, turns, company)
