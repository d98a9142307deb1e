"""What a character takes to other chats and what stays: arcs, canon, knowledge; and people under all their names."""

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import branch_chat
from apps.memories.models import Arc, Entity, Knowledge, Relationship, Scene, VersionedText
from apps.memories.operations.arcs import open_arc, resolve_arc
from apps.memories.operations.entities import get_or_create_entity
from apps.memories.operations.knowledge import create_knowledge
from apps.memories.queries.arcs import arcs_in
from apps.memories.queries.knowledge import knowledge_in
from tests.extraction.engine import storyteller
from tests.extraction.engine.story import append, message, read, tell
from tests.factories import make_chat
from tests.llm.scripted_server import ScriptedServer

LATER = "Three days later, they met again."


def asked(server: ScriptedServer, task: str, name: str) -> str:
    """What the last prompt of a task was filled with."""
    return [storyteller.value_of(one, name) for one in server.requests if storyteller.task_of(one) == task][-1]


def next_chat(chat: Chat, *texts: str) -> Chat:
    return make_chat(chat.owner, *texts, character=chat.character, title="Next")


def test_an_arc_is_attributed_to_the_earlier_message_that_says_it(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, "Mira swears to find the northern lighthouse keeper.", "I see.", "Good.")
    server.reply_to(lambda request: storyteller.task_of(request) == "arcs", "NONE")
    read(chat, tiers=["arcs"])
    line = "[arc] Mira must find the northern lighthouse keeper."
    server.reply_to(lambda request: storyteller.task_of(request) == "arcs", line)
    append(chat, "Let us go on.", "Good.", is_user=True)
    read(chat, tiers=["arcs"])
    arc = Arc.objects.for_owner(owner).get()
    assert arc.source == message(chat, 0)


def test_a_persistent_arc_is_offered_and_resolved_in_the_characters_other_chats(
    owner: User, server: ScriptedServer
) -> None:
    chat = tell(owner, "ARC: Mira must find the northern lighthouse keeper.", "Good.")
    append(chat, "ARC: Bertram owes the harbour a ship.", "Good.", is_user=True)
    read(chat, tiers=["arcs"])
    Arc.objects.for_owner(owner).filter(text__startswith="Mira").update(persistent=True)
    other = next_chat(chat, "RESOLVED: Mira found the lighthouse keeper.", "Good.")
    read(other, tiers=["arcs"])
    assert "lighthouse" in asked(server, "arcs", "open")
    assert "Bertram" not in asked(server, "arcs", "open")
    for reader in (chat, other, branch_chat(owner, chat.pk, 1)):
        [arc, *_] = [arc for arc in arcs_in(reader) if arc.persistent]
        assert (arc.state, arc.until, arc.summary != "") == ("resolved", message(other, 0), True)
    assert len([arc for arc in arcs_in(branch_chat(owner, chat.pk, 1)) if arc.persistent]) == 1


def test_a_canon_made_in_another_chat_extends_the_history(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, "FACT(2): Mira lives in Marrow.", "Good.", "Yes.")
    read(chat, tiers=["long_term"])
    other = next_chat(chat, "FACT(3): Mira owns a ferry.", "Good.", "Yes.")
    read(other, tiers=["long_term"])
    for number, told in enumerate((chat, other)):
        for arc in range(15):
            text = f"Thread {arc} of chat {number}."
            row = open_arc(told, text, message(told, 0), vector=None, model="", run_id=None)
            resolve_arc(row, message(told, 1), f"Outcome {arc} of chat {number}.")
    read(other, tiers=["canon"])
    assert all(
        f"Outcome {arc} of chat {number}." in asked(server, "canon", "arcs") for arc in (0, 14) for number in (0, 1)
    )
    assert "Marrow" in asked(server, "canon", "memories")
    assert VersionedText.objects.for_owner(owner).get(kind="canon").character == chat.character


def test_a_person_whom_only_the_scene_names_may_know_something(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, "Old Osric listens at the door.", LATER, "Good.")
    Scene.objects.create(owner=owner, chat=chat, source=message(chat, 0))
    lines = "[knows] Osric | The ferry was sold.\n[knows] Balthasar | The mayor lied."
    server.reply_to(lambda request: storyteller.task_of(request) == "epistemic", lines)
    read(chat, tiers=["epistemic"])
    assert [row.subject.name for row in knowledge_in(chat)] == ["Osric"]


def test_a_person_under_two_names_is_one(owner: User) -> None:
    chat = tell(owner, "Good.")
    osric = get_or_create_entity(chat, "Osric", "character")
    Entity.objects.for_owner(owner).filter(pk=osric.pk).update(aliases=["the Keeper"])
    said = "KNOWS(Osric): The ferry was sold.\nKNOWS(The keeper): The ferry was sold."
    append(chat, f"{said}\nFEELS: The keeper -> Mira: warm(high)\nFACT(2): Osric is well.", LATER, "Good.")
    Scene.objects.create(owner=owner, chat=chat, source=message(chat, 1))
    read(chat, tiers=["epistemic", "long_term"])
    assert Knowledge.objects.for_owner(owner).get().subject == osric
    assert Relationship.objects.for_owner(owner).get().subject == osric


def test_relationships_know_everybody_whom_the_turns_name(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, "Good.")
    for number in range(60):
        get_or_create_entity(chat, f"Guest{number}", "character")
    append(chat, "FEELS: Guest3 -> Mira: wary(high)\nFACT(2): Guest3 is angry with Mira.", "Good.", is_user=True)
    read(chat, tiers=["long_term"])
    assert "Guest3," in asked(server, "relationships", "names")
    assert Relationship.objects.for_owner(owner).get().subject.name == "Guest3"


def test_knowledge_is_carried_to_the_characters_next_chat_but_not_from_another_branch(
    owner: User, server: ScriptedServer
) -> None:
    chat = tell(owner, "KNOWS(Mira): The ferry was sold.", LATER, "Good.")
    Scene.objects.create(owner=owner, chat=chat, source=message(chat, 0))
    read(chat, tiers=["epistemic"])
    branch = branch_chat(owner, chat.pk, 1)
    create_knowledge(branch, "knows", "Mira", "The mayor lied.", editor="alice")
    assert [row.text for row in knowledge_in(chat)] == ["The ferry was sold."]
    other = next_chat(chat, "Good morning.", LATER, "Good.")
    Scene.objects.create(owner=owner, chat=other, source=message(other, 0))
    read(other, tiers=["epistemic"])
    assert asked(server, "epistemic", "known").count("The ferry was sold.") == 1
    assert "The ferry was sold." in [row.text for row in knowledge_in(other)]
