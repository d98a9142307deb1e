"""Models of runs, jobs, extraction progress, settings and prompt templates."""

from apps.extraction.models.jobs import EmbeddingJob, ModelTest
from apps.extraction.models.runs import ExtractionProgress, ExtractionRun, ModelCall, RunStep
from apps.extraction.models.settings import MemorySettings, PromptTemplate

__all__ = [
    "EmbeddingJob",
    "ExtractionProgress",
    "ExtractionRun",
    "MemorySettings",
    "ModelCall",
    "ModelTest",
    "PromptTemplate",
    "RunStep",
]
