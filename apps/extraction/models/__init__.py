"""Models of runs, jobs, extraction progress, settings and prompt templates."""

from apps.extraction.models.jobs import EmbeddingJob as EmbeddingJob
from apps.extraction.models.jobs import IndexJob as IndexJob
from apps.extraction.models.jobs import ModelTest as ModelTest
from apps.extraction.models.runs import ExtractionProgress as ExtractionProgress
from apps.extraction.models.runs import ExtractionRun as ExtractionRun
from apps.extraction.models.runs import ModelCall as ModelCall
from apps.extraction.models.runs import RunStep as RunStep
from apps.extraction.models.settings import MemorySettings as MemorySettings
from apps.extraction.models.settings import PromptTemplate as PromptTemplate
