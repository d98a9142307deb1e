"""Write what was found in a document of another program, beside what is remembered already."""

from django.db import transaction

from apps.exchange.memories.reading.found import Found
from apps.exchange.memories.writing.layers import write_layers
from apps.exchange.memories.writing.memories import write_memories
from apps.exchange.memories.writing.target import Target
from apps.extraction.jobs.embedding_jobs import on_embedding_changed


@transaction.atomic
def write(found: Found, target: Target) -> None:
    """Store memories, entities and layers, and count them in the target. What is stored already is left out.

    Vectors of the new memories are computed in the background.
    """
    target.registry.add(found.entities)
    write_memories(found.memories, target)
    write_layers(found, target)
    target.written["entities"] = target.registry.created
    transaction.on_commit(lambda: on_embedding_changed(target.owner_id))
