"""What Loci puts into the prompts of a chat besides its texts is in the chat's language, if it is translated."""

from pathlib import Path
from typing import Any

import polib
import pytest

from apps.accounts.models import User
from apps.chats.languages import catalogue_of
from apps.chats.models import Character, Chat
from apps.memories.models import Knowledge
from apps.memories.operations.entities import get_or_create_entity
from apps.prompts.filling.plan import slot_plan_for
from apps.prompts.settings.stores import INJECTION_SETTINGS, prompt_settings_of
from apps.prompts.slots.blocks import blocks_of_text
from apps.prompts.slots.definitions import IN_CHAT, LONG_TERM
from tests.factories import UserFactory, make_character, make_chat, make_memory
from tests.prompts.requests import assemble, assemble_whole

GERMAN = {
    "Known from earlier conversations:": "Aus früheren Gesprächen bekannt:",
    "What {{char}} knows and hides:": "Was {{char}} weiß und verbirgt:",
    "%(who)s hides from %(whom)s: %(what)s": "%(who)s verbirgt vor %(whom)s: %(what)s",
    "Scenario": "Lage",
    "Also present: %(names)s.": "Außerdem dabei: %(names)s.",
}
TURNS = ("Wo ist denn der Hund geblieben?", "Der liegt noch im Garten.", "Und was machen wir heute mit ihm?")


@pytest.fixture(autouse=True)
def catalogue(tmp_path: Path, settings: Any) -> None:
    """A German catalogue of this test's own, so that it depends on no translation."""
    folder = tmp_path / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    file = polib.POFile()
    file.metadata = {"Content-Type": "text/plain; charset=utf-8", "Plural-Forms": "nplurals=2; plural=(n != 1);"}
    file.extend(polib.POEntry(msgid=english, msgstr=german) for english, german in GERMAN.items())
    file.save_as_mofile(str(folder / "django.mo"))
    settings.LOCALE_PATHS = [tmp_path]


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


@pytest.fixture
def mira(owner: User) -> Character:
    return make_character(owner, "Mira")


def told(chat: Chat) -> str:
    prompt = assemble(
        chat, text=None, character=chat.character, context_tokens=4000, with_history=False, leave_trace=False
    )
    return "\n".join(slot.text for slot in prompt.slots if slot.text)


@pytest.mark.parametrize(
    ("turns", "language"),
    [
        (TURNS, "de"),
        (("Where is the dog?", "In the garden."), "en"),
        (("狗在哪里？", "在花园里。"), "zh-hans"),
        (("Où est le chien ?", "Il est dans le jardin."), "en"),
        (("Where is the dog? " * 99, *TURNS * 3), "de"),
        ((), "en"),
    ],
)
def test_the_newest_messages_tell_the_language(owner: User, turns: tuple[str, ...], language: str) -> None:
    assert catalogue_of(make_chat(owner, *turns)) == language


def test_headings_and_verbs_are_in_the_language_of_the_chat(owner: User, mira: Character) -> None:
    chat = make_chat(owner, *TURNS, character=mira)
    make_memory(chat, "Alice hat einen Hund namens Rex.", character=mira)
    _hide(chat)
    text = told(chat)
    assert "Aus früheren Gesprächen bekannt:\n- Alice hat einen Hund namens Rex." in text
    assert "Was Mira weiß und verbirgt:\n- Mira verbirgt vor Alice: Der Hund ist fort." in text
    assert "Known from" not in text


def test_an_english_chat_has_english_ones(owner: User, mira: Character) -> None:
    chat = make_chat(owner, "Where is the dog?", "In the garden.", character=mira)
    make_memory(chat, "Alice hat einen Hund namens Rex.", character=mira)
    _hide(chat)
    text = told(chat)
    assert "Known from earlier conversations:\n- Alice" in text
    assert "Mira hides from Alice: Der Hund" in text


def test_a_template_of_the_person_s_own_stays(owner: User, mira: Character) -> None:
    INJECTION_SETTINGS.change(owner, {"long_term_template": "I recall:\n{{entries}}"})
    chat = make_chat(owner, *TURNS, character=mira)
    make_memory(chat, "Alice hat einen Hund namens Rex.", character=mira)
    assert "I recall:\n- Alice" in told(chat)


@pytest.mark.parametrize("heading", ["Known from earlier conversations:", "Aus früheren Gesprächen bekannt:"])
def test_a_recall_that_was_made_in_another_language_is_divided(owner: User, mira: Character, heading: str) -> None:
    plan = slot_plan_for(make_chat(owner, *TURNS, character=mira), mira, "Hm.", prompt_settings_of(make_chat(owner)))
    for slots in (plan.slots, prompt_settings_of(make_chat(owner)).slots):
        blocks = blocks_of_text(slots, plan.names, f"{heading}\n- Alice hat einen Hund.")
        assert list(blocks) == [LONG_TERM.name]
    assert plan.slots["session"].position == IN_CHAT


def test_labels_of_the_card_are_in_the_language_of_the_chat(owner: User, mira: Character) -> None:
    Character.objects.for_owner(owner).filter(pk=mira.pk).update(scenario="Im Garten.")
    chat = make_chat(owner, *TURNS, character=mira)
    parts = {
        part.name: part.text for part in assemble_whole(Chat.objects.for_owner(owner).get(), context_tokens=4000).parts
    }
    assert chat.pk
    assert parts["scenario"] == "Lage:\nIm Garten."


def _hide(chat: Chat) -> None:
    mira, alice = (get_or_create_entity(chat, name, "character") for name in ("Mira", "Alice"))
    Knowledge.objects.for_owner(chat.owner_id).create(
        owner_id=chat.owner_id, chat=chat, kind="hiding", subject=mira, target=alice, text="Der Hund ist fort."
    )
