"""A small model is asked plain questions; "nothing" is doubted; what a model can't write is not asked each time."""

import pytest

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.extraction.models import ExtractionRun, ModelCall
from apps.extraction.runs.estimates import estimate
from apps.extraction.settings.stores import change_settings
from apps.extraction.steps import texts
from apps.memories.models import Memory
from tests.extraction.engine.story import append, read, tell
from tests.extraction.engine.test_reading import is_task, tasks_of
from tests.lanes import sampled
from tests.llm.scripted_server import ScriptedServer

SAID = (
    "I'm home at last, my sister Leyla called from Bergen and talked for an hour.",
    "That sounds like her, and what did she have to tell you?",
    "She starts at the aquarium in April. And I can't have sesame, my throat swells.",
    "I'll keep the sesame away from you then, that is a promise.",
)
ALICE = "Alice's sister Leyla lives in Bergen.\nAlice can't have sesame.\nAlice owns a castle in Spain."


def said_of(chat: Chat) -> dict[str, Memory]:
    return {memory.text: memory for memory in Memory.objects.for_owner(chat.owner_id).active().filter(chat=chat)}


def by_alice(request: object) -> bool:
    return is_task("plain")(request) and "Alice wrote:" in request.prompt  # type: ignore[attr-defined]


@pytest.fixture
def small(owner: User) -> None:
    change_settings(owner, {"reading": "small"})


def test_a_small_model_answers_plain_questions_about_one_speaker_at_a_time(
    owner: User, server: ScriptedServer, small: None
) -> None:
    server.reply_to(by_alice, ALICE)
    chat = tell(owner, *SAID)
    run = read(chat)
    assert (run.state, run.backend, run.model) == ("succeeded", "openai", "storyteller")
    assert set(tasks_of(server)) == {"plain"}, "the built-in reader does the rest"
    assert len(tasks_of(server)) == 2
    assert "Mira wrote:" not in server.of_kind("generation")[0].messages[-1]["content"]
    kept = said_of(chat)
    sister, sesame = kept["Alice's sister Leyla lives in Bergen."], kept["Alice can't have sesame."]
    assert sesame.sources.get().message.index == 2
    assert "Alice" in str(list(sister.entities.values_list("name", flat=True)))
    assert "Alice owns a castle in Spain." not in kept
    assert "Alice owns a castle in Spain." in [line for step in run.steps.all() for line in step.unused_lines]
    assert run.llm["calls"] == 2
    assert server.of_kind("generation")[0].body["repeat_penalty"] > 1
    assert 0 < estimate(chat, ["long_term"], 0, 4, again=True)["prompt_tokens"] < 1500


def test_nothing_in_many_messages_is_doubted_and_read_by_the_built_in_reader(
    owner: User, server: ScriptedServer, small: None
) -> None:
    chat = tell(owner, *(f"{text} This is the message number {n}." for n in range(3) for text in SAID))
    run = read(chat)
    assert run.state == "succeeded"
    assert tasks_of(server).count("plainest") == 1
    assert run.counts["doubted"] == 11
    server.reply_to(is_task("plainest"), "Alice can't have sesame.")
    again = tell(owner, *(f"{text} This is the message number {n}." for n in range(3) for text in SAID))
    run = read(again)
    assert "doubted" not in run.counts
    assert "Alice can't have sesame." in said_of(again)


@pytest.mark.parametrize("reading", sampled(["separate", "one"], 1))
def test_nothing_is_doubted_of_a_large_model_too(owner: User, server: ScriptedServer, reading: str) -> None:
    change_settings(owner, {"reading": reading, "chunk": 30})
    chat = tell(owner, *(f"{text} This is the message number {n}." for n in range(6) for text in SAID))
    run = read(chat)
    assert run.state == "succeeded"
    assert tasks_of(server).count("plainest") == 1
    assert run.counts["doubted"] == 23
    assert not run.kept_nothing or not said_of(chat)


def test_a_profile_that_a_model_could_not_write_is_not_asked_for_at_each_reading(
    owner: User, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause = 2
    monkeypatch.setattr(texts, "FIRST_PAUSE", pause)
    change_settings(owner, {"reading": "one"})
    server.reply_to(is_task("profiles"), "I'd rather talk about the weather.")
    chat = tell(owner, "FACT(3): Mira lives in Port Salt.", "Good.")
    read(chat)
    assert tasks_of(server).count("profiles") == 2, "asked, and asked once more"
    for number in range(pause):
        append(chat, f"FACT(2): Mira met merchant {number}.")
        assert read(chat).counts["backed_off"] == 1
    assert tasks_of(server).count("profiles") == 2
    append(chat, "FACT(2): Mira met a bishop.")
    read(chat)
    assert tasks_of(server).count("profiles") == 4, "tried again after a while"
    append(chat, "FACT(2): Mira met a thief.")
    assert read(chat).counts["backed_off"] == 1
    assert ModelCall.objects.for_owner(owner).filter(task="profiles").count() == 4
    server.reply_to(is_task("profiles"), "<character_state>\nGoals: peace\n</character_state>")
    read_profile = read(chat, tiers=["profiles"])
    assert read_profile.state == ExtractionRun.State.SUCCEEDED
    assert tasks_of(server).count("profiles") == 5, "what a person asks for is always tried"
