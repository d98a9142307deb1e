"""The only writes to characters and chats.

A write to a chat is always the same beats: lock the chat's row, check the guard, change, record, announce on commit.
"""

from apps.chats.operations.appending import Appended, append_messages
from apps.chats.operations.branches import branch_chat
from apps.chats.operations.characters import (
    create_character,
    delete_character,
    find_or_create_character,
    update_character,
)
from apps.chats.operations.chats import create_chat, delete_chat, update_chat
from apps.chats.operations.door import UNGUARDED, Guard, lock_chat, record_change
from apps.chats.operations.participants import add_participant, remove_participant, update_participant
from apps.chats.operations.patching import Patched, patch_messages
from apps.chats.operations.storing import store_messages
from apps.chats.operations.undoing import Undone, undo_last_change
from apps.chats.patches import Patch

__all__ = [
    "UNGUARDED",
    "Appended",
    "Guard",
    "Patch",
    "Patched",
    "Undone",
    "add_participant",
    "append_messages",
    "branch_chat",
    "create_character",
    "create_chat",
    "delete_character",
    "delete_chat",
    "find_or_create_character",
    "lock_chat",
    "patch_messages",
    "record_change",
    "remove_participant",
    "store_messages",
    "undo_last_change",
    "update_character",
    "update_chat",
    "update_participant",
]
