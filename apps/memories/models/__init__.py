"""Models of memories, layers, lineage and the passage index."""

from apps.memories.models.entities import Entity as Entity
from apps.memories.models.entities import EntityMerge as EntityMerge
from apps.memories.models.journal import JournalEntry as JournalEntry
from apps.memories.models.layers import Arc as Arc
from apps.memories.models.layers import Knowledge as Knowledge
from apps.memories.models.layers import LayerEntry as LayerEntry
from apps.memories.models.layers import LedgerEntry as LedgerEntry
from apps.memories.models.layers import Relationship as Relationship
from apps.memories.models.layers import Scene as Scene
from apps.memories.models.life import LOST as LOST
from apps.memories.models.life import REPLACED as REPLACED
from apps.memories.models.life import RETIRED as RETIRED
from apps.memories.models.life import Remembered as Remembered
from apps.memories.models.life import RetiredReason as RetiredReason
from apps.memories.models.lineage import ChatMemory as ChatMemory
from apps.memories.models.lineage import Ending as Ending
from apps.memories.models.lineage import Inheritance as Inheritance
from apps.memories.models.lineage import Supersession as Supersession
from apps.memories.models.memory import Memory as Memory
from apps.memories.models.memory import MemorySource as MemorySource
from apps.memories.models.passages import Passage as Passage
from apps.memories.models.questions import Question as Question
from apps.memories.models.texts import VersionedText as VersionedText
