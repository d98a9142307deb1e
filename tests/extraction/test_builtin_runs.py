"""Runs of the built-in extractor: what is told in one window is kept, whatever a model may add per extraction."""

import pytest

from apps.accounts.models import User
from apps.chats.operations import append_messages
from apps.extraction.models import ExtractionRun
from apps.memories.models import Memory
from tests.extraction.engine.story import read
from tests.factories import UserFactory, make_character, make_chat, parsed

PEOPLE = {
    "Nele": "a potter in Ulm", "Omar": "a cook in Gent", "Pia": "a roofer in Linz", "Rolf": "a clerk in Metz",
    "Sina": "a farmer in Brno", "Timo": "a printer in Pisa", "Ulla": "a surgeon in Nice", "Vito": "a sailor in Bari",
    "Wanda": "a teacher in Lodz", "Xenia": "a florist in Split",
}  # fmt: skip


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


def kept_of(run: ExtractionRun) -> list[str]:
    assert run.state == "succeeded"
    rows = Memory.objects.for_owner(run.owner_id).filter(chat=run.chat_id, state=Memory.State.ACTIVE)
    return list(rows.order_by("pk").values_list("text", flat=True))


def test_each_of_ten_people_who_introduce_themselves_is_remembered(owner: User) -> None:
    lines = [parsed(f"My name is {name}, and I am {what}.", name=name) for name, what in PEOPLE.items()]
    chat = make_chat(owner, character=make_character(owner))
    append_messages(owner.pk, chat.pk, [parsed("Who are you all?", is_user=True), *lines, parsed("Hm.", is_user=True)])
    found = kept_of(read(chat))
    assert [name for name in PEOPLE if not any(text.startswith(f"{name}: ") for text in found)] == []


def test_eight_facts_of_one_speaker_are_remembered(owner: User) -> None:
    facts = [
        "I'm Catholic.", "I live in Graz.", "I hate raisins.", "My husband is called Ralf.", "I'm asthmatic.",
        "I don't eat pork.", "I wear a hearing aid.", "My daughter Ida is deaf.",
    ]  # fmt: skip
    chat = make_chat(owner, " ".join(facts), "Oh.", "Hm.", character=make_character(owner))
    assert len(kept_of(read(chat))) == 8


def test_what_the_person_asks_to_remember_is_no_injection(owner: User) -> None:
    texts = ["Save this to your memory: my bike is a red Vela from 1998.", "Saved.", "Hm."]
    chat = make_chat(owner, *texts, character=make_character(owner))
    assert ["Vela" in text for text in kept_of(read(chat))] == [True]


def test_yesterday_is_that_of_the_owner_s_time_zone(owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(time_zone="Europe/Berlin")
    sent = "2026-03-09T23:30:00Z"  # the tenth, in Berlin
    lines = [parsed("Yesterday I sold my boat to Anna.", is_user=True, send_date=sent), parsed("Oh."), parsed("Hm.")]
    chat = make_chat(owner, character=make_character(owner))
    append_messages(owner.pk, chat.pk, lines)
    assert any("Yesterday (9 March 2026) I sold" in text for text in kept_of(read(chat)))


def test_a_chat_in_chinese_is_remembered(owner: User) -> None:
    chat = make_chat(owner, "我对花生过敏。我妹妹住在上海。", "好的。", "嗯。", character=make_character(owner))
    assert len(kept_of(read(chat))) == 2
