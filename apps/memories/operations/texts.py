"""The text of a memory, with what search needs of it."""

from apps.llm.backends import embedder_for
from apps.llm.embeddings import EmbeddingUnavailable
from apps.memories.lexemes import Lexemes
from apps.memories.models import Memory


def set_text(memory: Memory, text: str) -> None:
    """Give a memory its text, with what search needs of it."""
    memory.text = text
    memory.lexemes = Lexemes(text)
    try:
        embedder = embedder_for(memory.owner_id)
        memory.embedding, memory.embedding_model = embedder.embed([text])[0], embedder.model
    except EmbeddingUnavailable:
        memory.embedding, memory.embedding_model = None, ""
