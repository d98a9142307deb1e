"""Tell who speaks in the messages of a request. Nothing here reads the database."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.proxy.requests.folded_prompts import PLACEHOLDER, Names, label_of
from apps.proxy.requests.texts import GAP, mentions
from apps.proxy.requests.turns import INSTRUCTION_ROLES, MAX_NAME_LENGTH, text_of

MAX_MEMBERS = 50  # of a group; what more messages are named after stays a name
OUTSIDE_NAMES = re.compile(r"[^A-Za-z0-9_]")  # of messages, as SillyTavern has it
Message = Mapping[str, Any]


@dataclass(frozen=True)
class Company:
    """Who takes part in a conversation: the user, the members if it is a group, and who is asked to speak next.

    ``speaker`` is who replies, as far as the request tells.
    """

    user: str = ""
    members: tuple[str, ...] = ()
    speaker: str = ""

    @property
    def is_group(self) -> bool:
        return bool(self.members)


NOBODY = Company()


def company_of(messages: Sequence[Message], names: Names) -> Company:
    """Return who takes part, by the names of messages that have them (see ``with_names``) and those of the prompt."""
    speakers = list(dict.fromkeys(message["name"] for message in messages if _is_named(message, "assistant")))
    users = [message["name"] for message in messages if _is_named(message, "user")]
    user = users[-1] if users else names.user
    told = [name for name in (*speakers, *names.members, names.asked) if name and name != user]
    is_group = names.is_group or len(speakers) > 1
    members = tuple(dict.fromkeys(name[:MAX_NAME_LENGTH] for name in told)) if is_group else ()
    alone = "" if is_group else next(iter([*speakers, *names.members]), "")
    speaker = names.asked or alone
    return Company(user[:MAX_NAME_LENGTH], members[:MAX_MEMBERS], speaker[:MAX_NAME_LENGTH])


def _is_named(message: Message, role: str) -> bool:
    return message["role"] == role and isinstance(message.get("name"), str) and bool(message["name"].strip())


def with_names(messages: Sequence[Message], names: Names) -> list[Message]:
    """Return the messages with the names that stand before their texts as their names.

    A text in which several speak is divided. ``Question: ...`` is no name: all replies must begin with one, and one of
    these must be told by the prompt, or two of them stand in its instructions.
    """
    replies = {label_of(text_of(message)) for message in messages if _is_plain(message, "assistant")}
    instructions = "\n".join(text_of(message) for message in messages if message["role"] in INSTRUCTION_ROLES)
    told = names.known | set(map(_latin, names.known))
    known = told | {name for name in replies if name and mentions(instructions, name)}
    is_labelled = bool(replies) and replies <= known and (len(replies) > 1 or bool(replies & told))
    named = [part for message in messages for part in _parts(message, "assistant", known if is_labelled else ())]
    if any(_is_named(message, "assistant") for message in named):
        users = {label_of(_spoken(message)) for message in named if _is_said(message)}
        if all(users):
            named = [part for message in named for part in _parts(message, "user", users)]
        elif users <= {"", names.user, _latin(names.user)}:
            # What has no name may be an instruction between two replies.
            named = [part for message in named for part in _parts(message, "user", users - {""}, before="user")]
    return [_with_own_name(message, names.known) for message in named]


def _latin(name: str) -> str:
    """Return a name as clients send it: OpenAI's API takes Latin letters, digits and ``_`` alone."""
    return OUTSIDE_NAMES.sub("_", name)


def _is_plain(message: Message, role: str) -> bool:
    """Return whether a message is text alone, and has no name yet."""
    content = message.get("content")
    return message["role"] == role and not message.get("name") and isinstance(content, str) and bool(content.strip())


def _is_said(message: Message) -> bool:
    """Return whether a message is a user's, and not the one that strict mode puts before a greeting."""
    return _is_plain(message, "user") and message["content"] != PLACEHOLDER


def _spoken(message: Message) -> str:
    """Return the text of a user's message from the first paragraph on that begins with a name, or all of it.

    Semi-strict mode puts instructions before it.
    """
    paragraphs = text_of(message).split(GAP)
    return next((paragraph for paragraph in paragraphs if label_of(paragraph)), paragraphs[0])


def _parts(message: Message, role: str, names: Collection[str], *, before: str = "system") -> list[Message]:
    """Return a message of a role, divided before each paragraph that begins with one of the names.

    What stands before a user's name is no part of what they say, but an instruction, or a message of the role
    ``before``.
    """
    if not names or not _is_plain(message, role):
        return [message]
    parts: list[tuple[str, list[str]]] = []
    for paragraph in message["content"].split(GAP):
        name = label_of(paragraph)
        if name in names:
            parts.append((name, [paragraph[len(name) + 2 :]]))
        elif parts:
            parts[-1][1].append(paragraph)
        else:
            parts.append(("", [paragraph]))
    return [
        {**message, "content": GAP.join(texts), "name": name} if name else {"role": before, "content": GAP.join(texts)}
        for name, texts in parts
    ]


def _with_own_name(message: Message, known: Collection[str]) -> Message:
    """Return a message with its whole name, and without that before its text.

    SillyTavern, which does not recognise its own form of a name, puts the name of who is asked before it.
    """
    if not any(_is_named(message, role) for role in ("user", "assistant")):
        return message
    name, content = message["name"].strip(), message.get("content")
    second = label_of(content) if isinstance(content, str) else ""
    name = second if second not in known and any(_latin(one) == second for one in known) else name
    whole = [one for one in known if one != name and _latin(one) == name]
    name = whole[0] if len(whole) == 1 and name not in known else name
    if isinstance(content, str):
        labels = (f"{name}: ", f"{message['name']}: ", f"{_latin(name)}: ")
        content = content.removeprefix(next(filter(content.startswith, labels), ""))
    return {**message, "name": name if name.strip("_ ") else "", "content": content}
