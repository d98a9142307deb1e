"""Write characters, lorebooks and chats.

A write to a chat locks the chat's row, checks the guard, changes rows and records the change (``apps.chats.locking``).
"""

from apps.chats.operations.branches import branch_chat
from apps.chats.operations.change_log import trim_change_logs
from apps.chats.operations.characters import (
    create_character,
    create_character_from_card,
    delete_character,
    delete_character_image,
    find_or_create_character,
    set_character_image,
    update_character,
)
from apps.chats.operations.chats import create_chat, delete_chat, start_conversation, update_chat
from apps.chats.operations.lorebooks import create_lorebook, delete_lorebook, store_book, update_lorebook
from apps.chats.operations.messages import Appended, Patched, append_messages, patch_messages, store_messages
from apps.chats.operations.metadata import MetadataPatched, patch_metadata
from apps.chats.operations.participants import add_participant, remove_participant, update_participant
from apps.chats.operations.patches import Patch, Splice
from apps.chats.operations.undo import NothingToUndo, Undone, undo_last_change

__all__ = [
    "Appended",
    "MetadataPatched",
    "NothingToUndo",
    "Patch",
    "Patched",
    "Splice",
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
    "patch_messages",
    "patch_metadata",
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
