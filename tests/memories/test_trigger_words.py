"""A memory is recalled by the words of its present text, whoever wrote it, and by those that it got from elsewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from apps.memories.models import Memory
from apps.memories.operations import edit_memory, split_memory
from apps.memories.trigger_words import after_rewriting, longest_words, trigger_words, words_said
from tests.factories import make_character, make_chat, make_memory

WORDS = st.lists(st.sampled_from("rope lantern harbour barn the with silver keeper riverside of".split()), max_size=12)
TEXTS = WORDS.map(" ".join)


def recalled(client: APIClient, chat_id: object, text: str) -> list[str]:
    """Return why each recalled memory was recalled."""
    reply = client.post(f"/api/v1/chats/{chat_id}/prompt/", {"text": text})
    return [memory["why"] for memory in (reply.json()["recall"] or {"memories": []})["memories"]]


def test_a_memory_that_a_person_wrote_is_recalled_by_its_words_and_an_edited_one_by_its_new_ones(
    alice: APIClient,
) -> None:
    chat = make_chat(alice.user, "Hello.", character=make_character(alice.user, "Mira"))
    body = {"text": "The rope hangs in the boathouse.", "tier": "long_term", "kind": "fact", "chat": str(chat.pk)}
    memory = Memory.objects.for_owner(alice.user).get(pk=alice.post("/api/v1/memories/", body).json()["id"])
    assert any("triggered by rope" in why for why in recalled(alice, chat.pk, "Where is the rope?"))
    alice.patch(f"/api/v1/memories/{memory.pk}/", {"text": "The lantern hangs in the barn."})
    assert not any("triggered by" in why for why in recalled(alice, chat.pk, "Where is the rope?"))
    assert any("triggered by lantern" in why for why in recalled(alice, chat.pk, "Where is the lantern?"))


@pytest.mark.django_db
def test_a_correction_keeps_the_words_that_are_not_of_the_text(alice: APIClient) -> None:
    chat = make_chat(alice.user, "Hello.")
    keys = [f"key{number}" for number in range(40)]
    memory = make_memory(chat, "The rope hangs there.", triggers=["hangs", "rope", *keys])
    edit_memory(memory, editor="alice", text="The lantern hangs there.")
    memory.refresh_from_db()
    assert memory.triggers == ["lantern", "hangs", *keys]
    edit_memory(memory, editor="alice", importance=3)
    memory.refresh_from_db()
    assert memory.triggers == ["lantern", "hangs", *keys]


@pytest.mark.django_db
def test_each_part_of_a_split_has_its_own_words(alice: APIClient) -> None:
    whole = make_memory(
        make_chat(alice.user, "Hello."), "The rope and the lantern.", triggers=["rope", "lantern", "sea"]
    )
    parts = split_memory(whole, ["Here is the rope.", "Here is the lantern."], editor="alice")
    assert [part.triggers for part in parts] == [["rope", "sea"], ["lantern", "sea"]]


@given(former=TEXTS, text=TEXTS, others=st.lists(st.sampled_from(["voyage", "storm", "rope"]), unique=True))
def test_after_a_change_of_text_its_words_recall_it_and_words_from_elsewhere_stay(
    former: str, text: str, others: list[str]
) -> None:
    before = [*longest_words(former), *others]
    after = after_rewriting(before, former, text)
    assert set(longest_words(text)) <= set(after)
    assert set(others) - set(longest_words(former)) <= set(after)
    assert set(after) <= {*longest_words(text), *before}
    assert not set(after) & (set(longest_words(former)) - set(trigger_words(text)))
    assert len(set(after)) == len(after)
    assert after_rewriting(after, text, text) == after


@pytest.mark.parametrize(
    ("key", "said"), [("青铜钥匙", "你把青铜钥匙藏在哪里？"), ("龙胆", "这就是龙胆。"), ("지우", "지우는 어디 있어?")]
)
def test_a_word_is_found_within_a_text_without_spaces(key: str, said: str) -> None:
    assert trigger_words(key) == [key]
    assert key in words_said(said)


def test_a_whole_sentence_without_spaces_is_no_trigger_word() -> None:
    assert longest_words("司马青把玉佩埋在梨树下面。") == ()
    assert longest_words("司马青：拉面 ramen") == ("ramen", "司马青", "拉面")
