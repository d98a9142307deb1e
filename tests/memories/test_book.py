"""The memory book of a chat and of a character: every part shown, corrected, undone; strangers find nothing."""

from itertools import combinations, pairwise
from typing import Any

import pytest
from django.test import Client
from django.utils.html import strip_tags

from apps.accounts.models import User
from apps.chats.models import Chat, Message, Participant
from apps.common import jobs
from apps.common.problems import Conflict
from apps.extraction import tasks
from apps.extraction.models import ExtractionRun
from apps.extraction.runs.operations import start_run
from apps.memories import operations
from apps.memories.models import (
    Arc,
    Entity,
    Knowledge,
    LedgerEntry,
    Memory,
    MemorySource,
    Relationship,
    Scene,
    VersionedText,
)
from apps.memories.operations.arcs import create_arc
from apps.memories.operations.superseding import supersede
from apps.memories.operations.texts import NewVersion, write_version
from apps.memories.views.relationship_graph import MAX_PEOPLE, lay_out_graph
from tests.factories import UserFactory, make_character, make_chat, make_memory

CHAT_TABS = (
    "",
    "story/",
    "arcs/",
    "scenes/",
    "ledger/",
    "knowledge/",
    "relationships/",
    "names/",
    "questions/",
    "runs/",
)
CHARACTER_TABS = ("", "story/", "arcs/", "knowledge/", "relationships/", "names/", "questions/")
HTMX: dict[str, Any] = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory(email="alice@example.com")


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, *[f"Turn {number}." for number in range(12)], character=make_character(alice))


@pytest.fixture
def book(chat: Chat) -> str:
    return f"/memories/chats/{chat.pk}/book/"


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page(client: Client, url: str) -> str:
    reply = client.get(url)
    assert reply.status_code == 200, (url, reply)
    return reply.content.decode()


def turn(chat: Chat, index: int) -> Message:
    return Message.objects.for_owner(chat.owner_id).with_swipes().get(chat=chat, index=index)


def learnt(chat: Chat, index: int, text: str, **fields: Any) -> Memory:
    """A memory that came from the message at an index."""
    message = turn(chat, index)
    memory = make_memory(chat, text, valid_from=message, **fields)
    MemorySource.objects.create(owner_id=chat.owner_id, memory=memory, message=message, swipe=message.active_swipe)
    return memory


def fresh(row: Any) -> Any:
    return type(row).objects.for_owner(row.owner_id).get(pk=row.pk)


# Every part


@pytest.mark.parametrize("tab", CHAT_TABS)
def test_every_part_of_a_chats_book_invites_where_it_is_empty(site: Client, book: str, tab: str) -> None:
    html = page(site, book + tab)
    assert 'class="empty"' in html or tab == "story/"
    assert site.delete(book + tab).status_code == 405


@pytest.mark.parametrize("tab", CHARACTER_TABS)
def test_a_characters_book_is_read_and_not_added_to(site: Client, chat: Chat, tab: str) -> None:
    url = f"/memories/characters/{chat.character_id}/book/{tab}"
    page(site, url)
    assert site.post(url, {"text": "x"}).status_code == 405


def test_a_strangers_book_is_not_there(chat: Chat, book: str) -> None:
    stranger = signed_in(UserFactory())
    for tab in CHAT_TABS:
        assert stranger.get(book + tab).status_code == 404
    for tab in CHARACTER_TABS:
        assert stranger.get(f"/memories/characters/{chat.character_id}/book/{tab}").status_code == 404
    for tab in ("arcs/", "ledger/", "knowledge/", "relationships/"):
        assert stranger.post(book + tab, {"text": "x"}).status_code == 404


def test_the_book_costs_the_same_however_long_it_is(
    site: Client, chat: Chat, book: str, django_assert_max_num_queries: Any
) -> None:
    for number in range(40):
        learnt(chat, number % 12, f"Memory {number}.")
    with django_assert_max_num_queries(20):
        page(site, book)


# The timeline


def test_the_timeline_follows_the_story_in_scenes(site: Client, chat: Chat, book: str, alice: User) -> None:
    Scene.objects.create(owner=alice, chat=chat, source=turn(chat, 4), name="The harbour")
    elsewhere = make_chat(alice, "Before.", character=chat.character, title="Another night")
    for text, index in (("Late thing", 9), ("Early thing", 1)):
        learnt(chat, index, text)
    learnt(elsewhere, 0, "From elsewhere")
    html = page(site, book)
    places = [html.index(words) for words in ("The harbour", "Early thing", "The current scene", "Late thing")]
    assert places == sorted(places)
    assert html.index("Late thing") < html.index("Learnt in other chats") < html.index("From elsewhere")
    assert f'href="/chats/{chat.pk}/?at=1#m-1"' in html
    of_character = page(site, f"/memories/characters/{chat.character_id}/book/")
    assert "Another night" in of_character
    assert of_character.index("The heist") < of_character.index("Early thing")


def test_the_timeline_shows_what_held_at_a_message(site: Client, chat: Chat, book: str) -> None:
    old = learnt(chat, 1, "She lives in Paris")
    new = learnt(chat, 6, "She lives in Lyon")
    supersede(chat, old.pk, new)

    def shown(query: str) -> list[str]:
        html = page(site, book + query)
        return [text for text in ("She lives in Paris", "She lives in Lyon") if f'"memory-text">{text}<' in html]

    assert shown("") == ["She lives in Lyon"]
    assert shown("?at=3") == ["She lives in Paris"]
    assert shown("?at=6") == ["She lives in Lyon"]
    assert shown("?at=0") == []
    assert shown("?state=all") == ["She lives in Paris", "She lives in Lyon"]
    assert shown("?at=nonsense") == shown("?at=-1") == shown("?at=99999999999") == ["She lives in Lyon"]
    html = page(site, book)
    assert "was: She lives in Paris" in strip_tags(html)
    assert "until message 6" in html


def test_the_timeline_is_filtered_by_what_stands_in_the_url(site: Client, chat: Chat, book: str) -> None:
    tea = learnt(chat, 1, "Tom likes tea", kind="preference", pinned=True)
    learnt(chat, 2, "They met at sea", tier="session")
    tom = Entity.objects.create(owner=chat.owner, character=chat.character, name="Tom")
    tea.entities.add(tom)

    def shown(query: str) -> int:
        return page(site, f"{book}?{query}").count('class="card memory"')

    assert shown("") == 2
    for query in ("kind=preference", "tier=session", "q=TEA", f"about={tom.pk}", "mark=pinned"):
        assert shown(query) == 1, query
    assert shown(f"about={tom.pk}&tier=session") == 0
    assert shown("state=retired") == 0
    assert shown("kind=x&tier=y&about=z&mark=w&state=v&page=u&q=%00") == 2


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("source_changed", "the text it came from was changed"),
        ("source_gone", "the text it came from was deleted"),
        ("fresh_start", "set aside by a fresh start"),
    ],
)
def test_why_a_memory_is_retired_is_told_in_words(site: Client, chat: Chat, book: str, reason: str, words: str) -> None:
    learnt(chat, 1, "Old news", state="retired", retired_reason=reason)
    assert f"retired: {words}" in page(site, f"{book}?state=retired")


def test_a_memorys_page_shows_its_whole_chain_witnesses_and_source(site: Client, chat: Chat, alice: User) -> None:
    tom = Participant.objects.create(owner=alice, chat=chat, name="Tom Quist", position=0)
    run = ExtractionRun.objects.create(owner=alice, chat=chat)
    texts = ["In Paris", "In Lyon", "In Nice"]
    chain = [learnt(chat, index, text) for index, text in enumerate(texts)]
    for older, newer in pairwise(chain):
        supersede(chat, older.pk, newer)
    Memory.objects.for_owner(alice).filter(pk=chain[1].pk).update(
        witnessed_by=[tom.pk], triggers=["silk", "river"], run=run
    )
    html = page(site, f"/memories/{chain[1].pk}/")
    section = html[html.index(">History<") :]
    assert [section.index(text) for text in texts] == sorted(section.index(text) for text in texts)
    assert "Tom Quist" in html
    assert "silk, river" in html
    assert f"/memories/runs/{run.pk}/" in html
    assert "Turn 1." in html


# Merge, split, and back


def test_a_merge_is_made_and_undone(site: Client, chat: Chat) -> None:
    one, other = learnt(chat, 1, "Tom likes tea."), learnt(chat, 5, "Tom likes green tea.")
    query: dict[str, Any] = {"memory": [one.pk, other.pk]}
    assert "Tom likes tea. Tom likes green tea." in site.get("/memories/merge/", query).content.decode()
    merged = site.post("/memories/merge/", query | {"text": "Tom drinks green tea."}, follow=True)
    whole = Memory.objects.for_owner(chat.owner_id).active().get()
    assert whole.text == "Tom drinks green tea."
    assert merged.content.decode().count(f"/memories/{whole.pk}/unmerge/") == 2  # in the toast, and on the page
    assert {source.message.index for source in whole.sources.all()} == {1, 5}
    undone = site.post(f"/memories/{whole.pk}/unmerge/", follow=True)
    assert "2 memories are active again" in undone.content.decode()
    assert {memory.text for memory in Memory.objects.for_owner(chat.owner_id).active()} == {one.text, other.text}
    whole = fresh(whole)
    assert (whole.state, whole.retired_reason) == ("retired", "undone")
    assert all(
        (fresh(m).superseded_by, fresh(m).valid_to, fresh(m).consolidated) == (None, None, True) for m in (one, other)
    )
    again = site.post(f"/memories/{whole.pk}/unmerge/", follow=True)
    assert "can no longer be undone" in again.content.decode()


def test_what_cannot_be_merged_says_why(site: Client, chat: Chat) -> None:
    one, other = learnt(chat, 1, "Tom likes tea."), learnt(chat, 2, "They met.", tier="session")
    chosen = [str(one.pk), str(other.pk), "nonsense"]
    html = site.get("/memories/merge/", {"memory": chosen}).content.decode()
    assert "They must be of one tier" in html
    assert "Choose at least two" in site.get("/memories/merge/").content.decode()
    assert site.post("/memories/merge/", {"memory": [one.pk, other.pk], "text": "x"}).status_code == 400
    assert Memory.objects.for_owner(chat.owner_id).active().count() == 2


def test_what_is_merged_or_split_twice_at_once_says_that_it_is_no_longer_active(chat: Chat) -> None:
    members = [learnt(chat, 1, "Tom likes tea."), learnt(chat, 5, "Tom likes green tea.")]
    operations.merge_by_hand(members, "Tom drinks green tea.", editor="alice")
    with pytest.raises(Conflict, match="Choose at least two active memories"):
        operations.merge_by_hand(members, "Tom drinks green tea.", editor="alice")
    with pytest.raises(Conflict, match="Only an active memory can be split"):
        operations.split_memory(members[0], ["Tom likes tea.", "Tom likes it green."], editor="alice")


def test_a_split_is_made_and_undone_from_any_part(site: Client, chat: Chat) -> None:
    whole = learnt(chat, 3, "Tom likes tea and hates rain.")
    lines = {"texts": "Tom likes tea.\nTom hates rain.\nTom is Tom."}
    made = site.post(f"/memories/{whole.pk}/split/", lines, follow=True)
    assert "The memory was split into 3." in made.content.decode()
    assert "/unsplit/" in made.content.decode()
    parts = list(Memory.objects.for_owner(chat.owner_id).active().order_by("pk"))
    assert [part.text for part in parts] == lines["texts"].split("\n")
    assert fresh(whole).superseded_by == parts[0]
    assert "Undo the split" in page(site, f"/memories/{parts[2].pk}/")
    operations.delete_memory(parts[0])
    assert "The split was undone." in site.post(f"/memories/{parts[2].pk}/unsplit/", follow=True).content.decode()
    assert Memory.objects.for_owner(chat.owner_id).active().get() == whole
    assert {fresh(part).state for part in parts} == {"retired"}


def test_a_split_whose_part_went_on_is_not_undone(site: Client, chat: Chat) -> None:
    whole = learnt(chat, 3, "Tom likes tea and hates rain.")
    parts = operations.split_memory(whole, ["Tom likes tea.", "Tom hates rain."], editor="alice")
    supersede(chat, parts[1].pk, learnt(chat, 5, "Tom loves rain."))
    with pytest.raises(Conflict):
        operations.undo_split(fresh(parts[0]))
    assert fresh(parts[0]).state == "active"
    assert "can no longer be undone" in site.post(f"/memories/{parts[0].pk}/unsplit/", follow=True).content.decode()
    assert "Only an active memory" in site.get(f"/memories/{whole.pk}/split/", follow=True).content.decode()


def test_what_is_neither_merged_nor_split_has_nothing_to_undo(chat: Chat) -> None:
    memory = learnt(chat, 1, "Tom likes tea.")
    for undo in (operations.undo_merge, operations.undo_split):
        with pytest.raises(Conflict):
            undo(memory)
    assert fresh(memory).state == "active"


def test_an_edit_is_undone_once(site: Client, chat: Chat) -> None:
    memory = learnt(chat, 1, "Tom likes tea.")
    data = {"text": "Tom likes coffee.", "kind": "preference", "importance": 3}
    saved = site.post(f"/memories/{memory.pk}/edit/", data, **HTMX).content.decode()
    assert f"/memories/{memory.pk}/revert/" in saved
    back = site.post(f"/memories/{memory.pk}/revert/", **HTMX).content.decode()
    assert "The edit was undone." in back
    memory = fresh(memory)
    assert (memory.text, memory.kind, memory.importance) == ("Tom likes tea.", "fact", 2)
    assert "can no longer be undone" in site.post(f"/memories/{memory.pk}/revert/", follow=True).content.decode()
    assert "revert/" in site.post(f"/memories/{memory.pk}/edit/", data, follow=True).content.decode()
    assert "restore/" in site.post(f"/memories/{memory.pk}/delete/", follow=True).content.decode()


# Arcs, scenes, the ledger, who knows what, relationships


def test_a_thread_is_added_resolved_and_taken_out_with_undo(site: Client, chat: Chat, book: str) -> None:
    assert site.post(f"{book}arcs/", {"text": ""}).status_code == 400
    site.post(f"{book}arcs/", {"text": "Find the key."})
    arc = Arc.objects.for_owner(chat.owner_id).get()
    closed = site.post(f"/memories/arcs/{arc.pk}/close/", {"next": f"{book}arcs/"}, follow=True)
    assert closed.redirect_chain == [(f"{book}arcs/", 302)]
    assert f"/memories/arcs/{arc.pk}/reopen/" in closed.content.decode()
    assert fresh(arc).state == "resolved"
    site.post(f"/memories/arcs/{arc.pk}/reopen/")
    assert fresh(arc).state == "open"
    of_character = f"/memories/characters/{chat.character_id}/book/arcs/"
    assert "Find the key." not in page(site, of_character)
    site.post(f"/memories/arcs/{arc.pk}/persist/")
    assert "Find the key." in page(site, of_character)
    site.post(f"/memories/arcs/{arc.pk}/edit/", {"text": "Find both keys.", "summary": "Slowly."})
    assert "was not saved" in site.post(f"/memories/arcs/{arc.pk}/edit/", {"text": ""}, follow=True).content.decode()
    assert fresh(arc).text == "Find both keys."
    out = site.post(f"/memories/arc/{arc.pk}/retire/", follow=True).content.decode()
    assert "Removed (1)" in out
    assert f"/memories/arc/{arc.pk}/restore/" in out
    site.post(f"/memories/arc/{arc.pk}/restore/")
    assert fresh(arc).state == "open"


def test_an_arc_of_a_deleted_chat_is_changed_in_its_characters_book(site: Client, chat: Chat) -> None:
    arc = Arc.objects.create(owner=chat.owner, character=chat.character, text="Go on.", persistent=True)
    url = f"/memories/characters/{chat.character_id}/book/arcs/"
    assert site.post(f"/memories/arcs/{arc.pk}/close/")["Location"] == url
    assert fresh(arc).state == "resolved"


@pytest.mark.parametrize("elsewhere", ["https://example.com/", "//example.com", "javascript:alert(1)", "\nx", ""])
def test_a_change_leads_back_to_its_own_pages_alone(site: Client, chat: Chat, book: str, elsewhere: str) -> None:
    arc = create_arc(chat, "Find the key.", editor="alice")
    reply = site.post(f"/memories/arcs/{arc.pk}/persist/", {"next": elsewhere})
    assert reply["Location"] == f"{book}arcs/"


def test_scenes_are_dismissed_brought_back_and_named(site: Client, chat: Chat, book: str) -> None:
    scene = Scene.objects.create(owner=chat.owner, chat=chat, source=turn(chat, 4), recap="They meet.")
    learnt(chat, 2, "Tom likes tea.")
    html = page(site, f"{book}scenes/")
    assert "They meet." in html
    assert "1 learnt here" in html
    assert "?at=4" in html
    gone = site.post(f"/memories/scenes/{scene.pk}/dismiss/", follow=True).content.decode()
    assert "They meet." not in gone
    assert ">Restore<" in gone
    site.post(f"/memories/scenes/{scene.pk}/bring-back/")
    site.post(f"/memories/scenes/{scene.pk}/edit/", {"name": "The harbour", "recap": "They part."})
    assert "The harbour" in page(site, f"{book}scenes/")
    long = site.post(f"/memories/scenes/{scene.pk}/edit/", {"name": "x" * 201}, follow=True)
    assert "was not saved" in long.content.decode()


def test_the_ledger_is_set_cleared_and_read_as_it_stood(site: Client, chat: Chat, book: str) -> None:
    mira = Entity.objects.create(owner=chat.owner, character=chat.character, name="Mira", kind="character")
    told: dict[str, Any] = {"owner": chat.owner, "chat": chat, "entity": mira, "field": "location"}
    LedgerEntry.objects.create(**told, value="the inn", source=turn(chat, 2), until=turn(chat, 6), state="replaced")
    LedgerEntry.objects.create(**told, value="the harbour", source=turn(chat, 6))
    now, then = page(site, f"{book}ledger/"), page(site, f"{book}ledger/?at=3")
    assert "the harbour" in now
    assert "the inn" in now
    assert "the inn" in then
    assert "the harbour" not in then
    assert "The ledger is empty after this message" in page(site, f"{book}ledger/?at=1")
    site.post(f"{book}ledger/", {"entity": "Mira", "field": "character:location", "value": "the road"})
    current = LedgerEntry.objects.for_owner(chat.owner_id).get(state="current")
    assert current.value == "the road"
    site.post(f"{book}ledger/", {"entity": "Mira", "field": "character:location", "value": ""})
    assert ">cleared<" in page(site, f"{book}ledger/")
    assert site.post(f"{book}ledger/", {"entity": "Mira", "field": "character:wings", "value": "x"}).status_code == 400


def test_who_knows_what_is_a_matrix_of_people_and_ways(site: Client, chat: Chat, book: str) -> None:
    for kind, subject, text in (
        ("knows", "Mira", "the code"),
        ("hiding", "Tom", "his name"),
        ("knows", "Tom", "the way"),
    ):
        data = {"kind": kind, "subject": subject, "text": text, "target": "Mira" if kind == "hiding" else ""}
        assert site.post(f"{book}knowledge/", data).status_code == 302
    html = page(site, f"{book}knowledge/")
    assert [html.index(words) for words in (">Knows<", ">Hiding<")] == sorted(
        [html.index(">Knows<"), html.index(">Hiding<")]
    )
    assert ">Believes</th>" not in html
    assert html.count('role="rowheader"') == 2
    assert "from Mira" in html
    wrong = {"kind": "knows", "subject": "Mira", "text": "x", "target": "Tom"}
    assert site.post(f"{book}knowledge/", wrong).status_code == 400
    row = Knowledge.objects.for_owner(chat.owner_id).get(text="the code")
    site.post(f"/memories/knowledge/{row.pk}/retire/")
    assert fresh(row).state == "retired"
    site.post(f"/memories/knowledge/{row.pk}/restore/")
    assert fresh(row).state == "active"
    assert "the code" in page(site, f"/memories/characters/{chat.character_id}/book/knowledge/")


def test_relationships_show_their_words_their_history_and_a_picture(site: Client, chat: Chat, book: str) -> None:
    said = {"subject": "Mira", "target": "Tom", "word": "wary", "magnitude": "low"}
    site.post(f"{book}relationships/", said)
    site.post(f"{book}relationships/", said | {"magnitude": "high"})
    html = page(site, f"{book}relationships/")
    assert "Before (1)" in html
    assert "<svg" in html[html.index('class="picture"') :]
    assert site.post(f"{book}relationships/", said | {"target": "mira"}).status_code == 400
    Entity.objects.for_owner(chat.owner_id).filter(name="Tom").update(aliases=["Thomas"])
    assert site.post(f"{book}relationships/", said | {"subject": "Thomas"}).status_code == 400
    word = Relationship.objects.for_owner(chat.owner_id).get(state="current")
    site.post(f"/memories/word/{word.pk}/retire/")
    site.post(f"{book}relationships/", said)
    taken = site.post(f"/memories/word/{word.pk}/restore/", follow=True).content.decode()
    assert "Another entry has replaced it since." in taken
    assert "wary" in page(site, f"/memories/characters/{chat.character_id}/book/relationships/")


def test_relationships_are_read_as_they_stood(site: Client, chat: Chat, book: str) -> None:
    mira, tom = (
        Entity.objects.create(owner=chat.owner, character=chat.character, name=name) for name in ("Mira", "Tom")
    )
    told: dict[str, Any] = {"owner": chat.owner, "chat": chat, "subject": mira, "target": tom}
    Relationship.objects.create(**told, descriptor="wary", source=turn(chat, 1), until=turn(chat, 5), state="removed")
    Relationship.objects.create(**told, descriptor="fond", source=turn(chat, 5))

    def words(query: str) -> set[str]:
        html = page(site, f"{book}relationships/{query}")
        return {word for word in ("wary", "fond") if f'word-said">{word}<' in html}

    assert words("") == {"fond"}
    assert words("?at=3") == {"wary"}
    assert words("?at=5") == {"fond"}
    assert words("?at=0") == set()


@pytest.mark.parametrize("count", [2, 3, MAX_PEOPLE])
def test_a_graph_has_everybody_once_within_its_bounds(count: int) -> None:
    names = [f"Person {number}" for number in range(count)]
    pairs = [(one, other, [("wary", "low"), ("fond", "high")]) for one in names for other in names if one != other]
    graph = lay_out_graph(pairs)
    assert graph is not None
    assert [person.name for person in graph.people] == names
    assert len(graph.arrows) == len(pairs)
    assert {(arrow.word or "fond", arrow.strength) for arrow in graph.arrows} == {("fond", 3)}
    words = [(arrow.x, arrow.y) for arrow in graph.arrows if arrow.word]
    assert len(words) >= min(len(pairs), 10)
    assert all(abs(x - a) > 25 or abs(y - b) > 15 for (x, y), (a, b) in combinations(words, 2))
    places = [(one.x, one.y) for one in graph.people] + [(one.x, one.y) for one in graph.arrows]
    assert all(0 < x < graph.width and 0 < y < graph.height for x, y in places)


def test_nobody_and_too_many_are_not_drawn() -> None:
    assert lay_out_graph([]) is None
    assert lay_out_graph([("Mira", "Tom", [])]) is None
    assert lay_out_graph([("Mira", f"Tom {number}", [("wary", "low")]) for number in range(MAX_PEOPLE)]) is None


# Texts, names, runs


def test_a_text_is_written_and_an_earlier_version_made_current(site: Client, chat: Chat, book: str) -> None:
    text = "[SUMMARY]\n1. Scene and setting: the inn\n3. Key events:\n- They met.\n[/SUMMARY]"
    first = write_version(chat, "summary", NewVersion(text, last=turn(chat, 5)))
    html = page(site, f"{book}story/")
    assert "<dt>Key events</dt>" in html
    assert "<li>They met.</li>" in html
    assert site.post(f"{book}story/summary/", {"text": ""}).status_code == 400
    saved = site.post(f"{book}story/summary/", {"text": "They parted."}, follow=True).content.decode()
    assert "They parted." in saved
    assert "Earlier versions (1)" in saved
    assert f"/memories/digests/{first.pk}/restore/" in saved
    site.post(f"/memories/digests/{first.pk}/restore/")
    current = VersionedText.objects.for_owner(chat.owner_id).get(state="current")
    assert (current.text, current.source) == (first.text, turn(chat, 5))


@pytest.mark.parametrize("part", ["canon", "profiles"])
def test_canon_and_profiles_stand_in_the_characters_book_too(site: Client, chat: Chat, book: str, part: str) -> None:
    data = {"text": "Mira is a pilot."} if part == "canon" else {"character_state": "Mira is a pilot."}
    assert site.post(f"{book}story/{part}/", data).status_code == 302
    for url in (f"{book}story/", f"/memories/characters/{chat.character_id}/book/story/"):
        assert "Mira is a pilot." in page(site, url)


def test_a_name_is_changed_and_two_that_are_one_are_merged(site: Client, chat: Chat, book: str) -> None:
    mira, salt = (
        Entity.objects.create(owner=chat.owner, character=chat.character, name=name) for name in ("Mira", "Salt")
    )
    learnt(chat, 1, "Mira likes tea.").entities.add(mira)
    html = page(site, f"{book}names/")
    assert "1 memory" in html
    assert "Mira" not in page(site, f"{book}names/?kind=unknown").partition("names")[0]
    url = f"/memories/entities/{mira.pk}/"
    assert site.post(url, {"name": "salt", "kind": "character"}).status_code == 400
    site.post(url, {"name": "Mira Quist", "kind": "character", "aliases": "Mi"})
    mira = fresh(mira)
    assert (mira.name, mira.kind, set(mira.aliases)) == ("Mira Quist", "character", {"Mi", "Mira"})
    assert "Mira Quist likes tea." in page(site, url)
    assert site.get(f"{url}merge/", {"into": "nobody"})["Location"] == url
    assert "You can undo it on the page of Salt" in page(site, f"{url}merge/?into={salt.pk}")
    site.post(f"{url}merge/", {"into": salt.pk})
    assert Entity.objects.for_owner(chat.owner_id).get() == salt
    assert fresh(salt).aliases == ["Mira Quist", "Mi", "Mira"]
    assert "Mira Quist likes tea." in page(site, f"/memories/entities/{salt.pk}/")


def test_a_run_is_paused_resumed_and_stopped_from_the_book(
    site: Client, chat: Chat, book: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks.run_extraction, "delay", lambda **ids: None)
    started = site.post(f"/memories/chats/{chat.pk}/extract/", {"next": f"{book}runs/"}, follow=True).content.decode()
    run = ExtractionRun.objects.for_owner(chat.owner_id).get()
    assert "Waiting to read new messages" in started
    paused = site.post(f"/memories/runs/{run.pk}/pause/", {"next": book}, follow=True).content.decode()
    assert "Paused at step 0 of 0" in paused
    assert "Resume" in site.get(f"/memories/chats/{chat.pk}/progress/").content.decode()
    site.post(f"/memories/runs/{run.pk}/resume/")
    assert fresh(run).state == "queued"
    assert "?in=book" in site.get(f"/memories/chats/{chat.pk}/progress/?in=book").content.decode()
    site.post(f"/memories/runs/{run.pk}/cancel/")
    assert "Cancelled" in page(site, f"{book}runs/")


def test_a_run_that_failed_is_told_and_tried_again(site: Client, chat: Chat, book: str) -> None:
    run, _ = start_run(chat.owner_id, chat)
    claimed = jobs.claim(ExtractionRun, run.pk)
    assert claimed is not None
    jobs.end(claimed, "failed", "The model did not answer.")
    for url in (book, f"/memories/runs/{run.pk}/", f"/memories/chats/{chat.pk}/progress/"):
        html = page(site, url)
        assert "The model did not answer." in html
        assert "Try again" in html
