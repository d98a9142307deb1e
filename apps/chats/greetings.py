"""A character's greetings, as the first message of a chat."""

import re

from apps.chats.formats.parsed import ParsedMessage, ParsedSwipe
from apps.chats.models import Character
from apps.chats.wire import timestamp
from apps.common import clock

# Of the macros of cards those that name the two who speak; <USER> and <BOT> are how 2022 wrote them.
_USER = re.compile(r"\{\{user\}\}|<USER>", re.IGNORECASE)
_CHARACTER = re.compile(r"\{\{char\}\}|<BOT>|<CHAR>", re.IGNORECASE)


def greeting_of(character: Character, user_name: str) -> ParsedMessage | None:
    """What the character says first, with its other greetings as swipes; None where it has none."""
    texts = [text for text in (character.first_mes, *character.alternate_greetings) if text.strip()]
    if not texts:
        return None
    now = clock.now()
    return ParsedMessage(
        name=character.name,
        is_user=False,
        is_system=False,
        send_date=timestamp(now),
        sent_at=now,
        swipe_id=0,
        swipes=tuple(ParsedSwipe(_named(text, character, user_name)) for text in texts),
        layout="",
    )


def _named(text: str, character: Character, user_name: str) -> str:
    """``text`` with the names in place of their macros; a nickname is how a character is called."""
    name = character.nickname or character.name
    return _CHARACTER.sub(lambda _: name, _USER.sub(lambda _: user_name, text))
