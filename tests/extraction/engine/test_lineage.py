"""What one story replaces, deletes or loses is seen by those chats alone that can know of it."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.models import Chat
from apps.chats.operations import add_participant, branch_chat, create_chat, delete_chat, purge_chat, restore_chat
from apps.common.problems import Conflict
from apps.extraction.runs import modes
from apps.extraction.runs.settling import invalidate_if_exists
from apps.memories.models import Arc, Inheritance, Memory, Question, Supersession
from apps.memories.operations.memories import delete_memory, restore_memory
from apps.memories.operations.questions import reopen, settle
from apps.memories.queries.arcs import arcs_in
from apps.memories.queries.knowledge import knowledge_in
from apps.memories.queries.memories import active_memories
from apps.memories.queries.relationships import relationships_in
from apps.memories.verdicts.neighbours import ComparisonScope, find_neighbours
from apps.prompts.retrieval.found import chosen_memories
from apps.prompts.turns import find_turn
from apps.search.service import QueryVectors, SearchQuery, search
from tests.extraction.engine import storyteller
from tests.extraction.engine.conftest import tune
from tests.extraction.engine.story import append, delete, edit, read, swipe, swipe_back, tell
from tests.factories import make_character, make_chat, make_memory
from tests.lanes import sampled
from tests.llm.scripted_server import ScriptedServer

LONG_TERM = {"tiers": ["long_term"]}
OSLO, ROME, LIMA, OWL = "Mira lives in Oslo.", "Mira lives in Rome now.", "Mira lives in Lima now.", "Mira has an owl."
URL = "/api/v1/memories/"


def told(owner: User, text: str, year: int, chat: Chat | None = None) -> Chat:
    """A read chat, of the same character as another one, in which the text is said in the year."""
    other = make_chat(owner, character=chat.character, title=f"Of {year}") if chat else tell(owner, title="First")
    return say(other, text, year)


def say(chat: Chat, text: str, year: int) -> Chat:
    said = f"FACT(2): {text}" if text else "Hello."
    append(chat, said, "Good.", is_user=True, send_date=f"{year}-05-01T10:00:00Z")
    read(chat, **LONG_TERM)
    return chat


def changed(chat: Chat, change: Any, *args: Any) -> None:
    change(chat, *args)
    invalidate_if_exists(chat)


def branch_of(chat: Chat, index: int) -> Chat:
    return branch_chat(chat.owner, chat.pk, index)


def memory(owner: User, text: str) -> Memory:
    return Memory.objects.for_owner(owner).get(text=text)


def seen(chat: Chat) -> list[str]:
    """What the chat has of its character: in what is known, the search, the prompt and comparison, which all agree."""
    chat = Chat.objects.for_owner(chat.owner_id).select_related("character").get(pk=chat.pk)
    owner, character = chat.owner, chat.character
    known = {row.text for row in active_memories(chat, "long_term", chat.character_id)}
    query = SearchQuery("Where does Mira live?", chat=chat.pk, character=chat.character_id, tiers=["long_term"])
    found = {result.memory.text for result in search(owner, query).results if result.memory}
    turn = find_turn(chat, "Where does Mira live?")
    in_prompt = {one.text for one in chosen_memories(turn, ["long_term"], character, [], QueryVectors())["long_term"]}
    rows = Memory.objects.for_owner(owner)
    vectors, model = [row.embedding for row in rows], rows.first()
    compared = find_neighbours(ComparisonScope(chat, "long_term"), [""] * len(rows), [], vectors, model.embedding_model)
    active = {near.text for nearest in compared for near in nearest if not near.is_gone}
    assert known == found == in_prompt == active
    return sorted(known)


@pytest.fixture
def api(owner: User) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {create_token(owner, name='test')[1]}")
    return client


def test_what_a_branch_supersedes_of_another_chat_stays_active_in_its_parent_and_siblings(owner: User) -> None:
    first = told(owner, OSLO, 2021)
    second = told(owner, "", 2022, first)
    sibling, branch = branch_of(second, 1), branch_of(second, 1)
    say(branch, ROME, 2024)
    inner = branch_of(branch, 3)
    third = told(owner, OWL, 2025, first)
    assert [seen(chat) for chat in (second, sibling)] == [[OWL, OSLO]] * 2
    assert [seen(chat) for chat in (first, branch, inner, third)] == [[OWL, ROME]] * 4


def test_a_chat_and_its_branch_supersede_the_same_memory_each_for_itself(owner: User) -> None:
    first = told(owner, OSLO, 2021)
    second = told(owner, "", 2022, first)
    branch = branch_of(second, 1)
    say(branch, ROME, 2024)
    say(second, LIMA, 2025)
    assert (seen(second), seen(branch)) == ([LIMA], [ROME])
    changed(branch, edit, 2, "Nothing.")
    assert (seen(first), seen(second), seen(branch)) == ([LIMA], [LIMA], [OSLO])


def test_what_another_chat_supersedes_is_superseded_in_branches_that_inherited_it(api: APIClient, owner: User) -> None:
    first = told(owner, OSLO, 2021)
    branch = branch_of(first, 1)
    second = told(owner, ROME, 2024, first)
    assert seen(first) == seen(branch) == seen(second) == [ROME]
    for chat in (first, branch):
        assert api.get(URL, {"chat": str(chat.pk), "state": "active"}).json()["results"] == []
        [shown] = api.get(URL, {"chat": str(chat.pk)}).json()["results"]
        assert (shown["text"], shown["state"]) == (OSLO, "superseded")
        assert shown["superseded_by"] == str(memory(owner, ROME).pk)
        assert [row["text"] for row in api.get(URL, {"chat": str(chat.pk), "at": 1}).json()["results"]] == [OSLO]
    assert seen(branch_of(first, 1)) == [ROME]


def test_what_was_replaced_over_another_memory_is_superseded_where_only_the_last_one_is_seen(owner: User) -> None:
    first = told(owner, OSLO, 2021)
    branch = branch_of(first, 1)
    say(first, ROME, 2022)
    second = told(owner, LIMA, 2024, first)
    assert seen(first) == seen(branch) == seen(second) == [LIMA]


@pytest.mark.parametrize("how", sampled(["edited", "in the bin", "purged"], 2))
def test_the_former_memory_is_active_again_everywhere_when_its_successor_goes(owner: User, how: str) -> None:
    first = told(owner, OSLO, 2021)
    branch = branch_of(first, 1)
    second = told(owner, ROME, 2024, first)
    if how == "edited":
        changed(second, edit, 0, "Nothing.")
    else:
        delete_chat(second)
    if how == "purged":
        purge_chat(owner, second.pk)
    assert seen(first) == seen(branch) == [OSLO]
    assert memory(owner, OSLO).state == "active"
    if how == "in the bin":
        restore_chat(owner, second.pk)
        assert seen(first) == seen(branch) == [ROME]
        assert memory(owner, OSLO).superseded_by == memory(owner, ROME)


def test_an_answer_between_two_stories_holds_where_the_true_memory_is_seen(owner: User) -> None:
    first = told(owner, OSLO, 2024)
    second = told(owner, "", 2022, first)
    branch = branch_of(second, 1)
    say(branch, ROME, 2024)
    question = Question.objects.for_owner(owner).get()
    settle(question, "second", editor="alice")
    assert [seen(chat) for chat in (first, branch, second)] == [[ROME], [ROME], [OSLO]]
    reopen(question)
    assert [seen(chat) for chat in (first, branch, second)] == [[OSLO, ROME], [OSLO, ROME], [OSLO]]
    assert not Supersession.objects.for_owner(owner).exists()


@pytest.mark.parametrize("answer", sampled(["first", "second"], 1))
def test_nothing_is_asked_or_answered_about_a_memory_in_the_bin(api: APIClient, owner: User, answer: str) -> None:
    first = told(owner, OSLO, 2024)
    second = told(owner, ROME, 2024, first)
    question = Question.objects.for_owner(owner).get()
    delete_chat(second)
    assert api.get(f"{URL}questions/").json()["results"] == []
    with pytest.raises(Conflict):
        settle(question, answer, editor="alice")
    assert seen(first) == [OSLO]
    restore_chat(owner, second.pk)
    assert len(api.get(f"{URL}questions/").json()["results"]) == 1


def test_what_a_person_deleted_is_not_learnt_again_in_a_branch_made_later(owner: User) -> None:
    said = f"FACT(2): {OWL}\nDETAIL(2): Alice carries a brass key."
    chat = tell(owner, said, "Good.", "Yes.")
    read(chat, tiers=["long_term", "session"])
    for row in Memory.objects.for_owner(owner):
        delete_memory(row)
    branch = branch_of(branch_of(chat, 2), 2)
    append(branch, said, "Good.", is_user=True)
    read(branch, tiers=["long_term", "session"])
    assert not Memory.objects.for_owner(owner).active_in(branch).exists()
    restore_memory(memory(owner, OWL))
    assert OWL in seen(branch)


def test_a_memory_that_lost_its_last_source_begins_at_the_one_before(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, "Hello.", "Good.", "Yes.", "Mira bought a boat.", "Mira named the boat Swan.", "Well.")
    line = "[event:2:permanent:source=3,4] Mira bought a boat and named it Swan."
    server.reply_to(lambda request: storyteller.task_of(request) == "long_term", line)
    read(chat, **LONG_TERM)
    changed(chat, delete, 4)
    row = Memory.objects.for_owner(owner).select_related("valid_from").get()
    assert (row.state, row.valid_from.index) == ("active", 3)
    assert not Memory.objects.for_owner(owner).active_in(branch_of(chat, 1)).exists()
    assert Memory.objects.for_owner(owner).active_in(branch_of(chat, 3)).count() == 1


def test_a_branch_inherits_nothing_of_a_run_without_a_source_in_the_branch(owner: User) -> None:
    chat = tell(owner, "Hello.", "Good.", f"FACT(2): {OWL}", "Good.", "Yes.")
    read(chat, **LONG_TERM)
    make_memory(chat, "Tom lives in Lima.", edited_by="alice")
    Memory.objects.for_owner(owner).update(valid_from=None)
    branch = branch_of(chat, 1)
    assert [row.memory.text for row in Inheritance.objects.for_owner(owner).filter(chat=branch)] == [
        "Tom lives in Lima."
    ]


def test_the_former_fact_returns_when_the_message_of_a_replacement_that_a_person_deleted_is_edited(
    owner: User,
) -> None:
    chat = tell(owner, f"FACT(2): {OSLO}", "Good.", f"FACT(2): {ROME}", "Good.", "Yes.")
    read(chat, **LONG_TERM)
    delete_memory(memory(owner, ROME))
    assert seen(chat) == []
    changed(chat, edit, 2, "Nothing.")
    assert seen(chat) == [OSLO]
    assert memory(owner, ROME).deleted_at is not None


def test_a_branch_confirms_what_it_inherited_also_where_the_parent_has_lost_it(
    owner: User, server: ScriptedServer
) -> None:
    chat = tell(owner, "Hello.", f"FACT(2): {OWL}", "Good.", "Good.")
    read(chat, **LONG_TERM)
    append(chat, f"FACT(2): {OWL}", "Good.", is_user=True)
    branch = branch_of(chat, 5)
    changed(chat, delete, 1)
    read(branch, **LONG_TERM)
    inherited = Inheritance.objects.for_owner(owner).get(chat=branch)
    assert seen(branch) == [OWL]
    assert len(inherited.message_ids) == 2


def test_a_memory_confirmed_in_a_group_goes_when_both_texts_have_gone(owner: User) -> None:
    chat = told(owner, OWL, 2021)
    group = create_chat(owner, title="Group", user_name="Alice")
    add_participant(owner, group.pk, name="Mira", character=chat.character)
    add_participant(owner, group.pk, name="Ben", character=make_character(owner, "Ben"))
    group.refresh_from_db()
    say(group, OWL, 2022)
    row = Memory.objects.for_owner(owner).get(text=OWL, character=chat.character)
    assert row.sources.count() == 2
    changed(chat, delete, 0)
    row.refresh_from_db()
    assert row.state == "active"
    changed(group, edit, 0, "Nothing.")
    row.refresh_from_db()
    assert row.state == "retired"


def test_a_memory_of_a_deleted_chat_stays_only_where_a_chat_that_says_it_is_seen(owner: User) -> None:
    first = told(owner, OWL, 2021)
    second = told(owner, "", 2022, first)
    branch = branch_of(second, 1)
    say(branch, OWL, 2023)
    inner, third = branch_of(branch, 3), told(owner, "", 2024, first)
    delete_chat(first)
    assert [seen(chat) for chat in (second, branch, inner, third)] == [[], [OWL], [OWL], [OWL]]
    purge_chat(owner, first.pk)
    assert [seen(chat) for chat in (second, branch, inner, third)] == [[], [OWL], [OWL], [OWL]]
    delete_chat(branch)
    assert [seen(chat) for chat in (second, inner, third)] == [[], [OWL], [OWL]]


def test_a_memory_is_in_the_bin_with_its_chat_once_the_branch_has_lost_its_text_too(owner: User) -> None:
    first = told(owner, OSLO, 2021)
    branch, third = branch_of(first, 1), told(owner, OWL, 2022, first)
    delete_chat(first)
    assert seen(branch) == seen(third) == [OWL, OSLO]
    changed(branch, edit, 0, "Hello.")
    assert seen(branch) == seen(third) == [OWL]
    assert [one.text for one in Memory.objects.for_owner(owner).active()] == [OWL]
    restore_chat(owner, first.pk)
    assert seen(first) == seen(third) == [OWL, OSLO]
    delete_chat(first)
    purge_chat(owner, first.pk)
    assert [one.text for one in Memory.with_bin.for_owner(owner)] == [OWL]


def test_a_memory_whose_text_is_swiped_away_and_back_keeps_its_pin(owner: User) -> None:
    chat = tell(owner, f"FACT(2): {OWL}", "Good.", "Yes.")
    read(chat, **LONG_TERM)
    Memory.objects.for_owner(owner).update(pinned=True)
    for change, value in ((swipe, "Nothing."), (swipe_back, 0)):
        changed(chat, change, 0, value)
        read(chat, **LONG_TERM)
    assert [(row.text, row.pinned) for row in Memory.objects.for_owner(owner).active()] == [(OWL, True)]


def test_an_undone_fresh_start_leaves_what_was_learnt_again_once(owner: User) -> None:
    said = "DETAIL(2): Alice carries a brass key."
    chat = tell(owner, f"{said}\nDETAIL(2): Tom limps.", "Good.", "Yes.")
    read(chat, tiers=["session"])
    modes.start_fresh(owner, chat)
    append(chat, said, "Good.", is_user=True)
    read(chat, tiers=["session"])
    modes.undo_fresh_start(owner, chat)
    active = Memory.objects.for_owner(owner).active()
    assert sorted(active.values_list("text", flat=True)) == ["Alice carries a brass key.", "Tom limps."]


STANDING = "FEELS: Mira -> Alice: wary(high)\nKNOWS(Mira): The ferry was sold.\nARC: Mira is looking for Tom."
ENDING = "FEELS: Mira -> Alice: !wary\nOVER: The ferry was sold.\nRESOLVED: Mira is looking for Tom."
BEFORE = (["wary(high)"], ["The ferry was sold."], ["open"])
AFTER = ([], [], ["resolved"])
LAYERS = {"tiers": ["long_term", "epistemic", "arcs"]}


@pytest.fixture
def first(owner: User) -> Chat:
    """A chat in which something stands that another chat of its character can end."""
    chat = tell(owner, title="First")
    tune(chat, reading="one")
    append(chat, f"FACT(2): {OWL}\n{STANDING}", "Good.", is_user=True, send_date="2021-05-01T10:00:00Z")
    read(chat, **LAYERS)
    Arc.objects.for_owner(owner).update(persistent=True)
    return chat


def next_chat(first: Chat, text: str = "", year: int = 2024) -> Chat:
    chat = make_chat(first.owner, character=first.character, title="Next")
    return end_there(chat, text, year) if text else chat


def end_there(chat: Chat, text: str = ENDING, year: int = 2024) -> Chat:
    tune(chat, reading="one")
    said = f"FACT(2): Tom met Alice in {year}.\n{text}"
    append(chat, said, "Good.", is_user=True, send_date=f"{year}-05-01T10:00:00Z")
    read(chat, **LAYERS)
    return chat


def layers(chat: Chat, at: int | None = None) -> tuple[list[str], list[str], list[str]]:
    """How people relate, what they know, and the states of arcs, as the chat has them."""
    chat = Chat.objects.for_owner(chat.owner_id).select_related("character").get(pk=chat.pk)
    words = [word for pair in relationships_in(chat, at) for word in pair.descriptors]
    return (
        [f"{word.descriptor}({word.magnitude})" for word in words],
        [row.text for row in knowledge_in(chat, at)],
        [arc.state for arc in arcs_in(chat)],
    )


@pytest.mark.parametrize("how", sampled(["edited", "deleted", "in the bin", "purged"], 2))
def test_what_another_chat_ended_goes_on_when_its_text_or_the_chat_goes(owner: User, first: Chat, how: str) -> None:
    second = next_chat(first, ENDING)
    assert layers(first) == layers(second) == AFTER
    assert layers(second, at=0)[0] == []
    if how == "edited":
        changed(second, edit, 0, "Nothing.")
    elif how == "deleted":
        changed(second, delete, 0)
    else:
        delete_chat(second)
    if how == "purged":
        purge_chat(owner, second.pk)
    assert layers(first) == BEFORE
    if how == "in the bin":
        restore_chat(owner, second.pk)
        assert layers(first) == layers(second) == AFTER


def test_what_a_kept_chat_ended_stays_ended_when_the_chat_is_purged(owner: User, first: Chat) -> None:
    second = next_chat(first, ENDING)
    delete_chat(second, keep_memories=True)
    assert layers(first) == AFTER
    purge_chat(owner, second.pk)
    assert layers(first) == AFTER


def test_what_a_branch_ended_of_another_chat_stands_in_its_parent(owner: User, first: Chat) -> None:
    second = next_chat(first)
    append(second, "Hello.", "Good.", is_user=True)
    branch = branch_of(second, 1)
    end_there(branch)
    assert (layers(second), layers(branch), layers(branch_of(branch, 2))) == (BEFORE, AFTER, AFTER)
    assert layers(first) == AFTER
    end_there(second, year=2025)
    changed(branch, edit, 2, "Nothing.")
    assert (layers(first), layers(second), layers(branch)) == (AFTER, AFTER, BEFORE)


def test_what_another_chat_ended_has_ended_in_branches_that_hold_copies(owner: User, first: Chat) -> None:
    before = branch_of(first, 1)
    next_chat(first, ENDING)
    after = branch_of(first, 1)
    assert [layers(chat) for chat in (first, before, after)] == [AFTER] * 3


def test_a_relationship_that_another_chat_changed_can_be_changed_back(owner: User, first: Chat) -> None:
    second = next_chat(first, "FEELS: Mira -> Alice: wary(low)")
    assert layers(first)[0] == ["wary(low)"]
    end_there(first, "FEELS: Mira -> Alice: wary(high)", 2025)
    assert layers(first)[0] == layers(second)[0] == ["wary(high)"]
    changed(second, edit, 0, "Nothing.")
    assert layers(first)[0] == layers(second)[0] == ["wary(high)"]


def test_a_person_reopens_an_arc_that_another_chat_resolved(api: APIClient, owner: User, first: Chat) -> None:
    next_chat(first, ENDING)
    url = f"/api/v1/chats/{first.pk}/arcs/"
    [shown] = api.get(url).json()["results"]
    assert (shown["state"], shown["summary"] != "") == ("resolved", True)
    assert api.patch(f"{url}{shown['id']}/", {"state": "open"}, format="json").json()["state"] == "open"
    assert [row["state"] for row in api.get(url).json()["results"]] == ["open"]
