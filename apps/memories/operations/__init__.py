"""All writes to memories and layers, by people and by the stages of a run."""

from apps.memories.operations.batches import apply_batch as apply_batch
from apps.memories.operations.memories import NewMemory as NewMemory
from apps.memories.operations.memories import create_memory as create_memory
from apps.memories.operations.memories import delete_memory as delete_memory
from apps.memories.operations.memories import edit_memory as edit_memory
from apps.memories.operations.memories import restore_memory as restore_memory
from apps.memories.operations.merging import merge_by_hand as merge_by_hand
from apps.memories.operations.merging import split_memory as split_memory
from apps.memories.operations.merging import undo_merge as undo_merge
from apps.memories.operations.merging import undo_split as undo_split
from apps.memories.operations.selection import change_memories as change_memories
from apps.memories.operations.selection import undo_changes as undo_changes
