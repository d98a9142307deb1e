"""What is remembered, what is derived from it, and the work that makes it."""

from apps.memories.models.jobs import ModelTest, Reembedding
from apps.memories.models.layers import Arc, Digest, Knowledge, LedgerEntry, Relationship, Scene
from apps.memories.models.lineage import ChatMemory, Inheritance, MemorySettings, PromptTemplate
from apps.memories.models.memory import Entity, Memory, MemorySource
from apps.memories.models.passages import Passage
from apps.memories.models.runs import ExtractionRun, ModelCall, Reading, RunStep

__all__ = [
    "Arc",
    "ChatMemory",
    "Digest",
    "Entity",
    "ExtractionRun",
    "Inheritance",
    "Knowledge",
    "LedgerEntry",
    "Memory",
    "MemorySettings",
    "MemorySource",
    "ModelCall",
    "ModelTest",
    "Passage",
    "PromptTemplate",
    "Reading",
    "Reembedding",
    "Relationship",
    "RunStep",
    "Scene",
]
