"""Choose who speaks next in a group chat, and remove the speaker's name from what a model says."""

import re
from collections.abc import Iterator

from apps.chats.models import Character, Chat, Message
from apps.chats.operations import character_of_participant
from apps.prompts.lorebooks.lore_keys import is_whole_word
from apps.prompts.turns import visible_messages


def next_speaker(chat: Chat, character: Character | None) -> tuple[str, Character | None]:
    """Return the name and the character of who speaks next.

    That is ``character`` if given, in a group the participant whom the last message names, else the one in turn: who
    comes after the last speaker. Muted participants are passed over; if all are, nobody speaks: the name is empty. One
    without a character gets one.
    """
    if character is not None:
        return character.name, character
    everybody = list(chat.participants.select_related("character").order_by("position"))
    if not everybody:
        return (chat.character.name if chat.character else ""), chat.character
    text, speaker, said_by_user = _last_words(chat)
    # Begin with who follows the last speaker, who may be muted by now.
    following = 1 + next((at for at, participant in enumerate(everybody) if participant.name == speaker), -1)
    participants = [one for one in everybody[following:] + everybody[:following] if not one.muted]
    if not participants:
        return "", None
    names = [participant.name for participant in participants]
    chosen = participants[position_in_turn(names, text, speaker, said_by_user=said_by_user)]
    return chosen.name, chosen.character or character_of_participant(chat.owner_id, chat.pk, chosen.name)


def is_mute(chat: Chat) -> bool:
    """Return whether the chat is a group of which everybody is muted."""
    return chat.is_group and not chat.participants.filter(muted=False).exists()


def speaker_of(chat: Chat, message: Message, character: Character | None) -> tuple[str, Character | None]:
    """Return the name and the character of a reply that is written again or continued: in a group, those it has."""
    if chat.is_group:
        name = _current_name(message)
        return name, character_of_participant(chat.owner_id, chat.pk, name)
    return message.name, character or chat.character


def position_in_turn(names: list[str], last_text: str, last_speaker: str, *, said_by_user: bool = False) -> int:
    """Return the position of who is named first in the text, else of who follows the last speaker.

    Who names themselves isn't asked to answer, but the user may ask the last speaker again.
    """
    others = [one for one in _mentions(names, last_text) if said_by_user or names[one[1]] != last_speaker]
    if others:
        return min(others)[1]
    return (names.index(last_speaker) + 1) % len(names) if last_speaker in names else 0


def _mentions(names: list[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield where the text names somebody, as a whole word, and the position of the name.

    Longer names come first, and what they take is no mention of a shorter one: "Ann Lee" is not Ann.
    """
    searched, taken = text.casefold(), set[int]()
    for at, name in sorted(enumerate(names), key=lambda one: -len(one[1])):
        folded = name.strip().casefold()
        for match in re.finditer(re.escape(folded), searched) if folded else ():
            if match.start() not in taken and is_whole_word(searched, *match.span()):
                taken.update(range(*match.span()))
                yield match.start(), at


def _last_words(chat: Chat) -> tuple[str, str, bool]:
    """Return the text of the last message, the name of the last speaker besides the user, and if the user said it."""
    messages = visible_messages(chat).order_by("-index")
    last, spoken = messages.first(), messages.filter(is_user=False).first()
    return last.mes if last else "", _current_name(spoken) if spoken else "", bool(last and last.is_user)


def _current_name(message: Message) -> str:
    """Return the name that the speaker of a message has in the group today: a renamed one's messages keep the old."""
    return message.participant.name if message.participant else message.name


def without_name(text: str, name: str, *, is_whole: bool = True) -> str:
    """Return a reply without the speaker's name and a colon at its beginning.

    Return nothing while a reply that is not whole may still become that.
    """
    start, label = text.lstrip(), f"{name}:"
    if not name:
        return text
    if start.startswith(label):
        return start.removeprefix(label).lstrip()
    return "" if label.startswith(start) and not is_whole else text
