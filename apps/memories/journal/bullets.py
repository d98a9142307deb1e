"""Bullets of a journal entry: ``- text [chat:ID] [via:INSTANCE]``. Pure functions.

A merge appends, so that what a person wrote between the bullets stays as it is.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

_MARKER = re.compile(r"(?:[-*•]\s+)+")
_TAG = re.compile(r"\[(chat|via):([^\[\]\s]{1,100})\]\s*$")


@dataclass(frozen=True)
class Bullet:
    """A bullet with the tags at its end; without a tag an empty string. Of several tags of a kind the last counts."""

    text: str
    chat: str = ""
    via: str = ""

    def __str__(self) -> str:
        tags = (f"[chat:{self.chat}]" if self.chat else "", f"[via:{self.via}]" if self.via else "")
        return " ".join(filter(None, ("-", self.text, *tags)))


def parse_bullets(text: str) -> list[Bullet]:
    """Return the bullets of a text. A line without a marker continues the bullet before it; a blank line ends it."""
    bullets = (_parse(" ".join(" ".join(lines).split())) for lines in _paragraphs(text))
    return [bullet for bullet in bullets if bullet.text]


def _paragraphs(text: str) -> list[list[str]]:
    """Return the lines of each bullet as they are; a blank line stands alone."""
    paragraphs: list[list[str]] = []
    continues = False
    for line in text.splitlines():
        words = " ".join(line.split())
        if continues and words and not _MARKER.match(words):
            paragraphs[-1].append(line)
        else:
            paragraphs.append([line])
        continues = bool(words)
    return paragraphs


def _parse(paragraph: str) -> Bullet:
    text, tags = paragraph, dict[str, str]()
    while (match := _TAG.search(text)) and match[1] not in tags:
        tags[match[1]] = match[2]
        text = text[: match.start()].rstrip()
    return Bullet(_MARKER.sub("", f"{text} ", count=1).strip() if _MARKER.match(f"{text} ") else text, **tags)


def chats_in(text: str) -> list[str]:
    """Return the chats that bullets of a text are tagged with, each once, in order."""
    return list(dict.fromkeys(bullet.chat for bullet in parse_bullets(text) if bullet.chat))


def without_chat(text: str, chat: str) -> str:
    """Return a text without the bullets that are tagged with a chat. All else stays as it is."""
    kept = [lines for lines in _paragraphs(text) if chat not in chats_in("\n".join(lines))]
    return "\n".join(line for lines in kept for line in lines)


def new_bullets(text: str, incoming: str, chats: Collection[str] = ()) -> list[Bullet]:
    """Return the bullets of ``incoming`` that a merge adds to ``text``.

    A bullet is not repeated if its chat is one of ``chats`` or tags a bullet there, or, without a chat, if its text is
    there.
    """
    known = set(chats).union(chats_in(text))
    texts = {bullet.text for bullet in parse_bullets(text)}
    added = []
    for bullet in parse_bullets(incoming):
        if bullet.chat not in known if bullet.chat else bullet.text not in texts:
            added.append(bullet)
            known.add(bullet.chat)
            texts.add(bullet.text)
    return added


def other_bullets(text: str, incoming: str) -> list[Bullet]:
    """Return the bullets of ``incoming`` that ``text`` doesn't have, whatever its chats."""
    known = parse_bullets(text)
    return [bullet for bullet in parse_bullets(incoming) if bullet not in known]


def append_bullets(text: str, bullets: Collection[Bullet]) -> str:
    """Return ``text`` with bullets after it, each on a line of its own."""
    return "\n".join([*([text.rstrip()] if text.strip() else []), *map(str, bullets)])


def has_bullets(text: str) -> bool:
    """Return whether any line of a text begins with the marker of a bullet."""
    return any(_MARKER.match(line.lstrip()) for line in text.splitlines())
