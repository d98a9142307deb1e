"""Models of memories, layers, lineage and the passage index."""

from apps.memories.models.layers import Arc, Knowledge, LayerEntry, LedgerEntry, Relationship, Scene, VersionedText
from apps.memories.models.lineage import ChatMemory, Inheritance
from apps.memories.models.memory import Entity, Memory, MemorySource, RetiredReason
from apps.memories.models.passages import Passage

__all__ = [
    "Arc",
    "ChatMemory",
    "Entity",
    "Inheritance",
    "Knowledge",
    "LayerEntry",
    "LedgerEntry",
    "Memory",
    "MemorySource",
    "Passage",
    "Relationship",
    "RetiredReason",
    "Scene",
    "VersionedText",
]
