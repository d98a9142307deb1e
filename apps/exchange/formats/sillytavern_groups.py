"""Read the groups in an archive of a SillyTavern profile: their names, and their members by their avatars' files."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from apps.exchange.formats.archives import Archive
from apps.exchange.formats.cards.reading import UnreadableCard, read
from apps.exchange.formats.conversion import as_object, title_of
from apps.exchange.formats.json_lines import BrokenLine, loads
from apps.exchange.formats.parsed import ParsedGroup, UnreadableFile

CHATS_FOLDER, GROUPS_FOLDER, CHARACTERS_FOLDER = "group chats", "groups", "characters"
MAX_GROUP_BYTES, MAX_CARD_BYTES = 2**20, 32 * 2**20


def is_group_file(name: str) -> bool:
    """Return whether a file of an archive describes a group."""
    path = PurePosixPath(name)
    return path.parent.name == GROUPS_FOLDER and path.suffix == ".json"


def read_groups(archive: Archive) -> dict[str, ParsedGroup]:
    """Return the groups of an archive by the names of their chats, without folder and extension."""
    files = archive.all_names()
    cards = {PurePosixPath(name).name: name for name in files if PurePosixPath(name).parent.name == CHARACTERS_FOLDER}
    groups: dict[str, ParsedGroup] = {}
    for name in filter(is_group_file, files):
        try:
            group = as_object(loads(archive.read(name, MAX_GROUP_BYTES), lambda _: None))
        except (UnreadableFile, BrokenLine):
            continue  # the chats of a damaged group are named after their files
        parsed = _group(group, archive, cards)
        chats = [chat for chat in _texts(group.get("chats")) or _texts([group.get("chat_id")]) if chat]
        for chat in chats:
            # A name for each chat, where a group has several.
            title = parsed.name if len(chats) == 1 else title_of(f"{parsed.name} - {chat}")
            groups[chat] = ParsedGroup(title, parsed.members)
    return groups


def _group(group: Mapping[str, Any], archive: Archive, cards: Mapping[str, str]) -> ParsedGroup:
    muted = set(_texts(group.get("disabled_members")))
    members: dict[str, bool] = {}
    for avatar in _texts(group.get("members")):
        name = _name_on_card(archive, cards[avatar]) if avatar in cards else ""
        members[name or title_of(PurePosixPath(avatar).stem)] = avatar in muted
    return ParsedGroup(title_of(group.get("name")), members)


def _name_on_card(archive: Archive, name: str) -> str:
    """Return the character's name on a card, or an empty text if there is none: the file is named after it."""
    try:
        card = read(archive.read(name, MAX_CARD_BYTES)).card
    except (UnreadableFile, UnreadableCard):
        return ""
    return title_of(card.fields["name"]) if card else ""


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
