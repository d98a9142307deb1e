"""Choose who speaks next in a group chat, and remove the speaker's name from what a model says."""

from apps.chats.models import Character, Chat, Message
from apps.injection.turns import visible_messages


def next_speaker(chat: Chat, character: Character | None) -> tuple[str, Character | None]:
    """Return the name and the character of who speaks next.

    That is ``character`` if given, in a group the participant whom the last message names, else the one in turn: who
    comes after the last speaker. Muted participants are passed over.
    """
    if character is not None:
        return character.name, character
    participants = list(chat.participants.filter(muted=False).select_related("character").order_by("position"))
    if not participants:
        return (chat.character.name if chat.character else ""), chat.character
    names = [participant.name for participant in participants]
    chosen = participants[position_in_turn(names, *_last_words(chat))]
    return chosen.name, chosen.character


def speaker_of(chat: Chat, message: Message, character: Character | None) -> tuple[str, Character | None]:
    """Return the name and the character of a reply that is written again or continued: in a group, those it has."""
    if chat.is_group:
        return message.name, message.participant.character if message.participant else None
    return message.name, character or chat.character


def position_in_turn(names: list[str], last_text: str, last_speaker: str) -> int:
    """Return the position of who is named first in the text, else of who follows the last speaker."""
    text = last_text.casefold()
    mentions = [(text.find(name.casefold()), at) for at, name in enumerate(names) if name and name != last_speaker]
    found = [mention for mention in mentions if mention[0] >= 0]
    if found:
        return min(found)[1]
    return (names.index(last_speaker) + 1) % len(names) if last_speaker in names else 0


def _last_words(chat: Chat) -> tuple[str, str]:
    """Return the text of the last message, and the name of the last speaker besides the user."""
    messages = visible_messages(chat).order_by("-index")
    last, spoken = messages.first(), messages.filter(is_user=False).first()
    return last.mes if last else "", spoken.name if spoken else ""


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
