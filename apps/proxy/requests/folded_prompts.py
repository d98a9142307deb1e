"""Read what clients fold into one another for servers that take only some roles. Nothing here reads the database.

SillyTavern's prompt post-processing has four modes: it joins messages of one role ("merge"), makes system messages
within the chat user messages ("semi-strict"), puts a user message before a greeting ("strict"), or makes the whole
prompt one user message ("single"). What it joins is set off by an empty line, and names stand before texts.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from apps.proxy.requests.nudges import CONTINUE, NEXT_REPLY
from apps.proxy.requests.texts import GAP, mentions
from apps.proxy.requests.turns import INSTRUCTION_ROLES, text_of

PLACEHOLDER = "Let's get started."  # strict mode's message before a greeting
START = re.compile(r"\[\s*start a new (?:group )?chat\b[^\]\n]*\]", re.IGNORECASE)
MEMBERS = re.compile(r"\[\s*start a new group chat\.? *group members: *(?P<names>[^\]\n]+)\]", re.IGNORECASE)
EXAMPLES = re.compile(r"\[\s*example chat\s*\]", re.IGNORECASE)
BETWEEN = re.compile(r"\bnext reply in a fictional chat between (?P<others>[^\n]+) and (?P<user>[^\n]+?)\.(?:\s|$)")
MAX_STOPS = 5  # in a name and what follows it
LABEL = re.compile(r"(?P<name>[^\s:*\"“”(\[<#>|`-][^:\n]{0,59}?): ")
Message = Mapping[str, Any]


@dataclass(frozen=True)
class Names:
    """The names that a prompt tells besides those of its messages: of its members, its user, and who is asked next.

    ``is_group``: it says so.
    """

    members: tuple[str, ...] = ()
    user: str = ""
    asked: str = ""
    is_group: bool = False

    @property
    def known(self) -> frozenset[str]:
        return frozenset(filter(None, (*self.members, self.user, self.asked)))


def names_in(texts: Iterable[str], character: str = "") -> Names:
    """Return the names in a prompt's texts. ``character`` is the one that the client's header names."""
    texts = list(texts)
    members = [character] if character else []
    user = asked = ""
    is_group = False
    for text in texts:
        if between := BETWEEN.search(text):
            others, user = _told_names(between, texts)
            members += _listed(others)
        if listed := MEMBERS.search(text):
            members += _listed(listed["names"])
            is_group = True
        for nudge in NEXT_REPLY.finditer(text):
            asked = nudge["name"].strip()
    return Names(tuple(dict.fromkeys(name for name in members if name != user)), user, asked, is_group or bool(asked))


def _told_names(between: re.Match[str], texts: Iterable[str]) -> tuple[str, str]:
    """Return the names of the others and of the user.

    The user's follows the last "and" and ends at the first full stop, unless a longer one stands before what is said.
    """
    line = between.string[between.start("others") :].partition("\n")[0]
    paragraphs = [paragraph for text in texts for paragraph in text.split(GAP)]
    ends = [match.start() for match in islice(re.finditer(r"\.(?:\s|$)", line), MAX_STOPS)]
    joints = [match.span() for match in islice(re.finditer(r"\sand\s", line), MAX_STOPS)]
    told = [(line[:joint].strip(), line[start:end].strip()) for joint, start in joints for end in ends if start < end]
    spoken = [names for names in told if names[1] and any(text.startswith(f"{names[1]}: ") for text in paragraphs)]
    return max(spoken, key=lambda names: len(names[1]), default=(between["others"], between["user"].strip()))


def _listed(names: str) -> list[str]:
    return [name for part in re.split(r",|\band\b", names) if (name := part.strip())]


def unfolded(messages: Sequence[Message], character: str = "") -> tuple[list[Message], Names]:
    """Return the messages as the client had them before it folded them, as far as one request shows it.

    A user message loses the client's own instructions at its ends, which become system messages again; a prompt in one
    message is divided at the names of who speaks. ``character`` is the one that the client names.
    """
    texts = [text_of(message) for message in messages]
    names = names_in(texts, character)
    is_sillytavern = any(START.search(text) or BETWEEN.search(text) for text in texts)
    if is_sillytavern and _is_single(messages, names):
        divided = _divided(texts[0], names)
        return [one for message in divided for one in _without_instructions(message, is_sillytavern)], names
    parts = (
        _without_instructions(message, is_sillytavern) if message["role"] == "user" else [message]
        for message in messages
    )
    return [one for part in parts for one in part], names


def _is_single(messages: Sequence[Message], names: Names) -> bool:
    """Return whether a prompt is one user message in which names stand before what is said."""
    if len(messages) != 1 or messages[0]["role"] != "user":
        return False
    return any(label_of(part, names.known) for part in text_of(messages[0]).split(GAP))


def _divided(text: str, names: Names) -> list[Message]:
    """Return the messages in a prompt that is one text: what is before the chat is its opening."""
    paragraphs = text.split(GAP)
    starts = [place for place, paragraph in enumerate(paragraphs) if START.fullmatch(paragraph.strip())]
    first = starts[-1] + 1 if starts else 0
    speakers = _speakers(paragraphs[first:], names, GAP.join(paragraphs[:first]))
    labels = [label_of(part, names.known) if place >= first else "" for place, part in enumerate(paragraphs)]
    opening: list[str] = []
    said: list[tuple[str, list[str]]] = []
    for paragraph, label in zip(paragraphs, labels, strict=True):
        if label in speakers:
            said.append((label, [paragraph[len(label) + 2 :]]))
        else:
            (said[-1][1] if said else opening).append(paragraph)
    user = names.user or next((speaker for speaker, _ in reversed(said) if speaker not in names.members), "")
    divided: list[Message] = [
        {"role": "user" if speaker == user else "assistant", "content": GAP.join(texts), "name": speaker}
        for speaker, texts in said
    ]
    return [{"role": "system", "content": GAP.join(opening)}, *divided] if opening else divided


def _speakers(paragraphs: Sequence[str], names: Names, opening: str) -> set[str]:
    """Return whose names stand before paragraphs: those that the prompt tells, the last, and those that stand often."""
    labels = [label for paragraph in paragraphs if (label := label_of(paragraph, names.known))]
    counts, last = Counter(labels), labels[-1] if labels else ""
    told = {name for name in counts if name in names.known or mentions(opening, name)}
    return told | {name for name in counts if not name[0].islower() and (counts[name] > 1 or name == last)}


def label_of(text: str, known: Iterable[str] = ()) -> str:
    """Return the name that stands before a text, or nothing. Names that are ``known`` may have any characters."""
    label = LABEL.match(text)
    told = [name for name in known if text.startswith(f"{name}: ")]
    return max(told, key=len, default=label["name"] if label else "")


def _without_instructions(message: Message, is_sillytavern: bool) -> list[Message]:
    """Return a message without the client's own instructions at its ends, and these as system messages.

    SillyTavern's instruction who replies next is the end of its chat: what follows are post-history instructions.
    """
    if not isinstance(message.get("content"), str) or message["role"] in INSTRUCTION_ROLES:
        return [message]
    paragraphs = message["content"].split(GAP)
    nudges = [place for place, paragraph in enumerate(paragraphs) if NEXT_REPLY.fullmatch(paragraph.strip())]
    begin, end = 0, nudges[-1] if nudges and is_sillytavern else len(paragraphs)
    while begin < end and is_clients_own(paragraphs[begin]):
        begin += 1
    while end > begin and is_clients_own(paragraphs[end - 1]):
        end -= 1
    if end - begin == len(paragraphs):
        return [message]
    before, rest, after = paragraphs[:begin], paragraphs[begin:end], paragraphs[end:]
    instructions = [[{"role": "system", "content": text} for text in texts] for texts in (before, after)]
    return [*instructions[0], *([{**message, "content": GAP.join(rest)}] if rest else []), *instructions[1]]


def is_clients_own(paragraph: str) -> bool:
    """Return whether a paragraph is an instruction in SillyTavern's words, which nobody says in a chat."""
    text = paragraph.strip()
    in_brackets = text.startswith("[") and text.endswith("]")
    return in_brackets and any(kind.match(text) for kind in (START, EXAMPLES, NEXT_REPLY, CONTINUE))
