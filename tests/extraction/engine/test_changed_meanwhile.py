"""What is changed while a model answers: no text is stored that was made from what a person has taken back."""

from collections.abc import Callable

import pytest

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.extraction.runs.settling import invalidate_if_exists
from apps.extraction.steps.asking import Asker
from apps.memories.models import Arc, Knowledge, Memory, Scene, VersionedText
from apps.memories.operations import delete_memory
from apps.memories.queries.memories import active_memories
from tests.extraction.engine import storyteller
from tests.extraction.engine.conftest import tune
from tests.extraction.engine.story import append, edit, read, settle, swipe, tell
from tests.llm.scripted_server import Answer, ScriptedServer

During = Callable[[str, Callable[[], object]], list[bool]]


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> During:
    """A function that has something happen once, after the model's first reply to a task and before it is stored."""

    def during(task: str, action: Callable[[], object]) -> list[bool]:
        original, done = Asker.answer, []

        def ask(self: Asker, asked: str, *args: object, **kwargs: object) -> object:
            reply = original(self, asked, *args, **kwargs)  # type: ignore[arg-type]
            if asked == task and not done:
                done.append(True)
                action()
            return reply

        monkeypatch.setattr(Asker, "answer", ask)
        return done

    return during


def take_back(chat: Chat, index: int = 0, text: str = "Nothing.") -> None:
    edit(chat, index, text)
    invalidate_if_exists(chat)


def reply_to(server: ScriptedServer, task: str, answer: Answer) -> None:
    server.reply_to(lambda request: storyteller.task_of(request) == task, answer)


def test_a_summary_of_an_earlier_message(owner: User, server: ScriptedServer, during: During) -> None:
    form = "[SUMMARY]\n1. Scene: the quay\n3. Key events: {}\n8. The current moment: now\n[/SUMMARY]"
    reply_to(server, "summary", lambda request: form.format("SECRET" if "SECRET" in request.prompt else "nothing"))
    words = "word " * 300
    chat = tell(owner, f"SECRET {words}", *[words] * 9, "Good.")
    tune(chat, summary_share=0.9)
    read(chat, tiers=["summary"])
    tune(chat, summary_share=0.3, summary_keep=2)
    append(chat, words, words, "Good.", is_user=True)
    append(chat, "Yes.")
    done = during("summary", lambda: take_back(chat, text=f"Nothing. {words}"))
    read(chat, tiers=["summary"])
    settle(chat)
    assert done
    assert "SECRET" not in VersionedText.objects.for_owner(owner).get(kind="summary", state="current").text


def test_a_canon_of_a_memory(owner: User, server: ScriptedServer, during: During) -> None:
    owl, none = "Who: Mira keeps an owl.", "Who: Mira is here."
    reply_to(server, "canon", lambda request: owl if "owl" in request.prompt else none)
    chat = tell(owner, "FACT(3): Mira keeps an owl in the attic.", "FACT(3): Tom owns a boat.", "Good.")
    read(chat, tiers=["long_term"])
    done = during("canon", lambda: delete_memory(Memory.objects.for_owner(owner).get(text__contains="owl")))
    read(chat, tiers=["canon"])
    for _ in range(2):
        append(chat, "Hello.", "Good.", is_user=True)
        read(chat)
    assert done
    assert "owl" not in VersionedText.objects.for_owner(owner).get(kind="canon", state="current").text


def test_knowledge_from_an_earlier_message(owner: User, during: During) -> None:
    tiers = ["scenes", "epistemic", "arcs"]
    chat = tell(owner, "KNOWS(Mira): The ferry was sold.", *["Hello."] * 6, "Good.")
    tune(chat, reading="separate", scene_min_messages=2)
    read(chat, tiers=tiers)
    append(chat, "Three days later, they met again.", "Hello.", "Good.", is_user=True)
    append(chat, "Yes.")
    done = during("epistemic", lambda: take_back(chat))
    read(chat, tiers=tiers)
    for _ in range(2):
        append(chat, "Well.", "Good.", is_user=True)
        read(chat, tiers=tiers)
    assert done
    assert not Knowledge.objects.for_owner(owner).filter(state="active").exists()


def test_a_thread_of_an_earlier_message(owner: User, server: ScriptedServer, during: During) -> None:
    chat = tell(owner, "Mira must find the northern lighthouse keeper.", "I see.", "Good.")
    reply_to(server, "arcs", "NONE")
    read(chat, tiers=["arcs"])
    reply_to(
        server,
        "arcs",
        lambda request: (
            "[arc] Mira must find the northern lighthouse keeper." if "northern" in request.prompt else "NONE"
        ),
    )
    append(chat, "Let us go on.", "Good.", is_user=True)
    done = during("arcs", lambda: take_back(chat))
    read(chat, tiers=["arcs"])
    settle(chat)
    assert done
    for arc in Arc.objects.for_owner(owner).filter(state="open"):
        assert arc.source is not None
        assert "lighthouse" in arc.source.mes


def test_a_recap_of_an_earlier_message(owner: User, server: ScriptedServer, during: During) -> None:
    reply_to(server, "scene_recap", lambda request: "SECRET." if "SECRET" in request.prompt else "They talked.")
    chat = tell(owner, "SECRET is told.", *["Hello."] * 20, "Good.")
    tune(chat, reading="one", scene_min_messages=2)
    read(chat, tiers=["scenes"])
    append(chat, "Three days later, they met again.", "Hello.", "Good.", is_user=True)
    append(chat, "Yes.")
    done = during("scene_recap", lambda: take_back(chat))
    read(chat, tiers=["scenes"])
    settle(chat)
    assert done
    assert [scene.recap for scene in Scene.objects.for_owner(owner).filter(state="found")] == ["They talked."]


def test_what_is_said_again_is_kept_though_its_first_message_is_taken_back(owner: User, during: During) -> None:
    chat = tell(owner, "FACT(2): Mira lives in Oslo.", "Good.", "Yes.")
    tune(chat, reading="separate")
    read(chat, tiers=["long_term"])
    append(chat, "FACT(2): Mira lives in Oslo.", "Good.", is_user=True)
    done = during("relationships", lambda: take_back(chat))
    read(chat, tiers=["long_term"])
    settle(chat)
    assert done
    assert active_memories(chat, "long_term", chat.character_id).get().text == "Mira lives in Oslo."


def test_a_reply_that_saw_an_earlier_message_is_not_used_once_that_is_taken_back(
    owner: User, server: ScriptedServer, during: During
) -> None:
    chat = tell(owner, "SECRET is told.", "Good.", "Yes.")
    tune(chat, reading="one")
    read(chat)
    append(chat, "FACT(2): Mira lives in Oslo.", "Good.", "Yes.", is_user=True)
    done = during("reading", lambda: take_back(chat))
    read(chat)
    shown = ["SECRET" in one.prompt for one in server.requests if storyteller.task_of(one) == "reading"]
    assert done
    # The first window; the second, with the message before it; that again without it; and the message as it is now.
    assert shown == [True, True, False, False]
    assert active_memories(chat, "long_term", chat.character_id).get().text == "Mira lives in Oslo."


@pytest.mark.parametrize("reading", ["one", "separate"])
def test_a_note_about_a_version_of_the_newest_reply(owner: User, during: During, reading: str) -> None:
    chat = tell(owner, "FACT(2): Tom sells boats.", "I see.", "Good.")
    tune(chat, reading=reading, continuity_repair=True)
    read(chat)
    append(chat, "Well.", is_user=True)
    append(chat, "WRONG: Tom sells horses.")
    done = during("review" if reading == "one" else "continuity", lambda: swipe(chat, 4, "He waves."))
    read(chat)
    settle(chat)
    assert done
    checks = VersionedText.objects.for_owner(owner).filter(chat=chat, kind__in=["continuity", "repair"])
    assert not checks.filter(text__contains="horses").exists()
    assert not checks.filter(kind="repair").exists()
