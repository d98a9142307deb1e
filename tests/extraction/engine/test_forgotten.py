"""What a person deleted stays deleted where a model is connected: in other words, kinds and tiers."""

import pytest

from apps.accounts.models import User
from apps.llm.backends.selection import embedder_for
from apps.memories.models import Memory
from apps.memories.operations import delete_memory, restore_memory
from tests.extraction.engine import storyteller
from tests.extraction.engine.layers import texts
from tests.extraction.engine.story import append, read, tell
from tests.factories import make_memory
from tests.lanes import further
from tests.llm.scripted_server import Reply, ScriptedServer, vector_of

OWL = "Mira keeps an owl in the attic."


def unit(text: str, *, turned: float = 0.0) -> list[float]:
    """The unit vector of a text, with ``turned`` added to its first coordinate."""
    vector = [value / 3 for value in vector_of(text)]
    vector[0] += turned
    length = sum(value * value for value in vector) ** 0.5
    return [value / length for value in vector]


def test_a_deleted_memory_is_looked_at_however_many_nearer_ones_there_are(owner: User) -> None:
    said = "Mira owns 7 grey cats."
    chat = tell(owner, f"FACT(2): {said}", "Good.")
    model = embedder_for(owner).model
    for number in range(20, 40):
        make_memory(chat, f"Mira owns {number} grey cats.", embedding=unit(said), embedding_model=model)
    doomed = make_memory(chat, said, embedding=unit(said, turned=0.3), embedding_model=model)
    delete_memory(doomed)
    read(chat, tiers=["long_term"])
    assert said not in texts(chat)


# One kind of each tier, once by vectors and once by words; the rest beyond the gate.
OTHERS = [("FACT", False), ("EVENT", True), ("EVENT", False), ("DETAIL", True), ("SCENE", True), ("SCENE", False)]


@pytest.mark.parametrize(("marker", "vectors"), [("FACT", True), ("DETAIL", False), *map(further, OTHERS)])
def test_a_deleted_memory_comes_back_in_no_kind_and_no_tier(
    marker: str, vectors: bool, owner: User, server: ScriptedServer
) -> None:
    if not vectors:
        server.reply_to(lambda request: request.kind == "embeddings", Reply(status=500))
    chat = tell(owner, f"FACT(2): {OWL}", "FACT(2): Mira keeps a goose in the garden.", "Good.")
    tiers = {"tiers": ["session", "long_term"]}
    read(chat, **tiers)
    doomed = Memory.objects.for_owner(owner).get(text=OWL)
    delete_memory(doomed)
    updates = "\n".join(f"[{number}] UPDATE" for number in range(1, 17))
    server.reply_to(lambda request: storyteller.task_of(request) == "pairs", updates)
    append(chat, f"{marker}(3): {OWL}", "Good.", is_user=True)
    read(chat, **tiers)
    assert OWL not in texts(chat)
    restore_memory(doomed)
    assert OWL in texts(chat)


def test_a_memory_that_lost_its_source_and_was_deleted_then_stays_deleted(owner: User) -> None:
    chat = tell(owner, f"FACT(2): {OWL}", "Good.")
    doomed = make_memory(chat, OWL, state="retired", retired_reason="source_changed")
    delete_memory(doomed)
    read(chat, tiers=["long_term"])
    assert texts(chat) == []
