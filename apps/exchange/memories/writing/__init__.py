"""Write what was found in a document of another program, by the operations of ``memories``.

What is remembered already stays as it is: of layers and texts too, a document adds only what is missing.
"""

from django.db import transaction

from apps.exchange.memories.reading.found import Found
from apps.exchange.memories.writing.layers import write_layers
from apps.exchange.memories.writing.memories import write_memories
from apps.exchange.memories.writing.target import ImportTarget
from apps.extraction.jobs.embedding_jobs import on_embedding_changed


@transaction.atomic
def write(found: Found, target: ImportTarget) -> None:
    """Store memories, entities and layers, and count them in the target. What is stored already is left out.

    Vectors of the new memories are computed in the background.
    """
    for entity in found.entities:
        target.registry.add_aliases(target.registry.get(entity.name, entity.kind), entity.aliases)
    write_memories(found.memories, target)
    write_layers(found, target)
    target.written["entities"] = target.registry.created
    transaction.on_commit(lambda: on_embedding_changed(target.owner_id))
