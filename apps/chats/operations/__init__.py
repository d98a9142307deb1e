"""The only writes to characters and chats.

A write to a chat is always the same beats: lock the chat's row, check the guard, change, record, announce on commit.
"""

from apps.chats.operations.appending import Appended, append_messages
from apps.chats.operations.branches import branch_chat
from apps.chats.operations.characters import (
    create_character,
    create_character_from_card,
    delete_character,
    delete_character_image,
    find_or_create_character,
    set_character_image,
    update_character,
)
from apps.chats.operations.chats import create_chat, delete_chat, update_chat
from apps.chats.operations.conversations import start_conversation
from apps.chats.operations.door import UNGUARDED, Guard, lock_chat, record_change
from apps.chats.operations.lorebooks import create_lorebook, delete_lorebook, store_book, update_lorebook
from apps.chats.operations.metadata import MetadataPatched, patch_metadata
from apps.chats.operations.participants import add_participant, remove_participant, update_participant
from apps.chats.operations.patching import Patched, patch_messages
from apps.chats.operations.storing import store_messages
from apps.chats.operations.trimming import trim_change_logs
from apps.chats.operations.undoing import Undone, undo_last_change
from apps.chats.patches import Patch

__all__ = [
    "UNGUARDED",
    "Appended",
    "Guard",
    "MetadataPatched",
    "Patch",
    "Patched",
    "Undone",
    "add_participant",
    "append_messages",
    "branch_chat",
    "create_character",
    "create_character_from_card",
    "create_chat",
    "create_lorebook",
    "delete_character",
    "delete_character_image",
    "delete_chat",
    "delete_lorebook",
    "find_or_create_character",
    "lock_chat",
    "patch_messages",
    "patch_metadata",
    "record_change",
    "remove_participant",
    "set_character_image",
    "start_conversation",
    "store_book",
    "store_messages",
    "trim_change_logs",
    "undo_last_change",
    "update_character",
    "update_chat",
    "update_lorebook",
    "update_participant",
]
