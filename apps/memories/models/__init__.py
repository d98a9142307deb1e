"""What is remembered, what is derived from it, and the work that makes it."""

from apps.memories.models.layers import Arc, Knowledge, LedgerEntry, Relationship, Scene, VersionedText
from apps.memories.models.lineage import ChatMemory, Inheritance
from apps.memories.models.memory import Entity, Memory, MemorySource
from apps.memories.models.passages import Passage

__all__ = [
    "Arc",
    "ChatMemory",
    "Entity",
    "Inheritance",
    "Knowledge",
    "LedgerEntry",
    "Memory",
    "MemorySource",
    "Passage",
    "Relationship",
    "Scene",
    "VersionedText",
]
