"""Write characters, lorebooks and chats.

A write to a chat locks the chat's row, checks the guard, changes rows and records the change (``apps.chats.locking``).
"""

from apps.chats.operations.bin import delete_chat as delete_chat
from apps.chats.operations.bin import purge_chat as purge_chat
from apps.chats.operations.bin import purge_old_chats as purge_old_chats
from apps.chats.operations.bin import restore_chat as restore_chat
from apps.chats.operations.branches import branch_chat as branch_chat
from apps.chats.operations.characters import create_character as create_character
from apps.chats.operations.characters import delete_character as delete_character
from apps.chats.operations.characters import delete_character_image as delete_character_image
from apps.chats.operations.characters import find_or_create_character as find_or_create_character
from apps.chats.operations.characters import merge_characters as merge_characters
from apps.chats.operations.characters import set_character_image as set_character_image
from apps.chats.operations.characters import set_favourite as set_favourite
from apps.chats.operations.characters import update_character as update_character
from apps.chats.operations.chats import create_chat as create_chat
from apps.chats.operations.chats import update_chat as update_chat
from apps.chats.operations.conversations import start_conversation as start_conversation
from apps.chats.operations.conversations import start_group as start_group
from apps.chats.operations.images import add_image as add_image
from apps.chats.operations.lorebooks import create_lorebook as create_lorebook
from apps.chats.operations.lorebooks import delete_lorebook as delete_lorebook
from apps.chats.operations.lorebooks import store_book as store_book
from apps.chats.operations.lorebooks import update_lorebook as update_lorebook
from apps.chats.operations.messages import append_messages as append_messages
from apps.chats.operations.messages import store_messages as store_messages
from apps.chats.operations.metadata import patch_metadata as patch_metadata
from apps.chats.operations.organizing import organize_chat as organize_chat
from apps.chats.operations.organizing import organize_chats as organize_chats
from apps.chats.operations.participants import add_member as add_member
from apps.chats.operations.participants import add_participant as add_participant
from apps.chats.operations.participants import character_of_participant as character_of_participant
from apps.chats.operations.participants import remove_participant as remove_participant
from apps.chats.operations.participants import update_participant as update_participant
from apps.chats.operations.patches import Patch as Patch
from apps.chats.operations.patches import Splice as Splice
from apps.chats.operations.patching import PatchResult as PatchResult
from apps.chats.operations.patching import patch_messages as patch_messages
from apps.chats.operations.personas import create_persona as create_persona
from apps.chats.operations.personas import delete_persona as delete_persona
from apps.chats.operations.personas import delete_persona_avatar as delete_persona_avatar
from apps.chats.operations.personas import introduce as introduce
from apps.chats.operations.personas import purge_old_personas as purge_old_personas
from apps.chats.operations.personas import restore_persona as restore_persona
from apps.chats.operations.personas import set_persona_avatar as set_persona_avatar
from apps.chats.operations.personas import update_persona as update_persona
from apps.chats.operations.trimming import trim_change_logs as trim_change_logs
from apps.chats.operations.undo import NothingToUndo as NothingToUndo
from apps.chats.operations.undo import can_undo as can_undo
from apps.chats.operations.undo import undo_change as undo_change
