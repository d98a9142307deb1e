"""The only writes to what is remembered: those of people, and those of a finished stage of a run."""

from apps.memories.operations.corrections import create_memory, delete_memory, edit_memory, restore_memory
from apps.memories.operations.merging import merge_by_hand, split_memory, undo_merge, undo_split
from apps.memories.operations.remembering import Stage, write_stage

__all__ = [
    "Stage",
    "create_memory",
    "delete_memory",
    "edit_memory",
    "merge_by_hand",
    "restore_memory",
    "split_memory",
    "undo_merge",
    "undo_split",
    "write_stage",
]
