"""A chat that only recalls, and a chat that starts fresh; both can be taken back."""

import pytest

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.models import Chat
from apps.chats.operations import Patch, append_messages, patch_messages
from apps.extraction.progress import invalidate_chat
from apps.extraction.runs import pipeline
from apps.extraction.runs.modes import end_read_only, set_read_only, start_fresh, undo_fresh_start
from apps.extraction.runs.operations import start_run
from apps.extraction.runs.queries import is_due
from apps.memories.models import LedgerEntry, Memory, VersionedText
from apps.memories.operations.entities import get_or_create_entity
from apps.memories.operations.ledger import set_field
from apps.memories.operations.texts import NewVersion, write_version
from apps.memories.queries.ledger import ledger_in
from apps.memories.queries.texts import current_version
from tests.factories import UserFactory, make_character, make_chat, parsed

STORY = [
    "I'm going to sell the blue boat to Tom tomorrow.",
    "I live in a small flat in Paris, above a bakery, with my brother Tom.",
    "Mira Vale has worked as a pilot for the Salt Company for nine years.",
    "My sister Anna is married to a doctor from Lisbon.",
]
MORE = (
    "My cousin Ines adopted a grey parrot called Kiwi.",
    "I see.",
    "Mira painted the boat green on Friday.",
    "Fine.",
)


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


@pytest.fixture
def chat(owner: User) -> Chat:
    return make_chat(owner, *STORY, character=make_character(owner))


def extract(chat: Chat) -> int:
    run, _ = start_run(chat.owner_id, chat)
    pipeline.execute(run.pk)
    run.refresh_from_db()
    assert run.state == "succeeded", run.error
    return run.kept


def say(chat: Chat, *texts: str) -> None:
    append_messages(chat.owner_id, chat.pk, [parsed(text, is_user=True) for text in texts])
    chat.refresh_from_db()


def texts(chat: Chat, **filters: object) -> set[str]:
    found = Memory.objects.for_owner(chat.owner_id).active().filter(chat=chat, **filters)
    return set(found.values_list("text", flat=True))


def test_a_read_only_chat_learns_nothing(owner: User, chat: Chat) -> None:
    assert extract(chat) > 0
    set_read_only(owner, chat)
    say(chat, *MORE)
    assert not is_due(chat)
    assert extract(chat) == 0
    assert not any("Kiwi" in text for text in texts(chat))


def test_back_from_read_only_it_learns_what_was_said_meanwhile(owner: User, chat: Chat) -> None:
    extract(chat)
    set_read_only(owner, chat)
    say(chat, *MORE)
    end_read_only(owner, chat, learn=True)
    assert is_due(chat)
    extract(chat)
    assert any("Kiwi" in text for text in texts(chat))


def test_or_skips_it(owner: User, chat: Chat) -> None:
    extract(chat)
    set_read_only(owner, chat)
    say(chat, *MORE)
    end_read_only(owner, chat, learn=False)
    assert not is_due(chat)
    say(chat, "My uncle Ned bought a windmill in Harrow.", "Yes.", "Good.")
    extract(chat)
    assert not any("Kiwi" in text for text in texts(chat))
    assert any("Ned" in text for text in texts(chat))


def test_a_fresh_start_sets_aside_what_is_the_chats_alone(owner: User, chat: Chat) -> None:
    extract(chat)
    mira = get_or_create_entity(chat, "Mira", "character")
    set_field(chat, mira, "mood", "calm", None)
    write_version(chat, VersionedText.Kind.SUMMARY, NewVersion("It began in Paris."))
    before, lasting = texts(chat, tier="session"), texts(chat, tier="long_term")
    assert before
    count = Memory.objects.for_owner(owner).count()

    start_fresh(owner, chat)
    assert texts(chat, tier="session") == set()
    assert ledger_in(chat) == []
    assert current_version(chat, VersionedText.Kind.SUMMARY) is None
    assert texts(chat, tier="long_term") == lasting
    assert Memory.objects.for_owner(owner).count() == count
    assert not is_due(chat)

    undo_fresh_start(owner, chat)
    assert texts(chat, tier="session") == before
    [state] = ledger_in(chat)
    assert [field.current.value for field in state.fields if field.current] == ["calm"]
    summary = current_version(chat, VersionedText.Kind.SUMMARY)
    assert summary is not None
    assert summary.text == "It began in Paris."


def test_what_came_since_a_fresh_start_holds_when_it_is_undone(owner: User, chat: Chat) -> None:
    mira = get_or_create_entity(chat, "Mira", "character")
    set_field(chat, mira, "mood", "calm", None)
    start_fresh(owner, chat)
    set_field(chat, mira, "mood", "angry", None)
    undo_fresh_start(owner, chat)
    [state] = ledger_in(chat)
    [mood] = state.fields
    assert mood.current is not None
    assert mood.current.value == "angry"
    assert [entry.value for entry in mood.before] == ["calm"]


def test_what_lost_its_source_since_a_fresh_start_does_not_come_back(owner: User, chat: Chat) -> None:
    extract(chat)
    run = chat.runs.get()
    [first, second, *_] = chat.messages.with_swipes().order_by("index")
    mira = get_or_create_entity(chat, "Mira", "character")
    for name, message in (("mood", first), ("location", second)):
        LedgerEntry.objects.create(
            owner_id=owner.pk, chat=chat, entity=mira, field=name, value="there", source=message, run=run
        )
    before = texts(chat, tier="session")
    start_fresh(owner, chat)
    patch_messages(owner, chat.pk, [Patch(index=0, values={"mes": "Never mind."})], Guard(force=True))
    invalidate_chat(owner, chat.pk)
    undo_fresh_start(owner, chat)
    [state] = ledger_in(chat)
    assert list(state.current_values) == ["location"]
    of_first = {memory.text for memory in Memory.objects.for_owner(owner).filter(sources__message=first)}
    assert texts(chat, tier="session") == before - of_first


def test_a_summary_ends_with_a_covered_message_though_another_was_inserted(owner: User, chat: Chat) -> None:
    last = chat.messages.with_swipes().order_by("index")[2]
    write_version(chat, VersionedText.Kind.SUMMARY, NewVersion("A story.", parts={"messages": 3}, last=last))
    insert = Patch(index=1, insert_before=parsed("And then?"))
    patch_messages(owner, chat.pk, [insert], Guard(force=True))
    invalidate_chat(owner, chat.pk)
    assert current_version(chat, VersionedText.Kind.SUMMARY) is not None
    patch_messages(owner, chat.pk, [Patch(index=0, delete=True)], Guard(force=True))
    invalidate_chat(owner, chat.pk)
    assert current_version(chat, VersionedText.Kind.SUMMARY) is None
