"""The only writes to memories and layers: those of people, and those of a finished stage of a run."""

from apps.memories.operations.memories import create_memory, delete_memory, edit_memory, restore_memory
from apps.memories.operations.merging import merge_by_hand, split_memory, undo_merge, undo_split

__all__ = [
    "create_memory",
    "delete_memory",
    "edit_memory",
    "merge_by_hand",
    "restore_memory",
    "split_memory",
    "undo_merge",
    "undo_split",
]
