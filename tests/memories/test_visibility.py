"""One rule tells which memories a chat sees: every reader has the same ones, case by case."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.chats.operations import add_participant, append_messages, branch_chat, create_chat, delete_chat
from apps.common.database.named_parameters import ids_of
from apps.extraction.settings.stores import change_settings
from apps.memories.api.exports import memory_export
from apps.memories.models import Inheritance, Memory
from apps.memories.models.memory import IS_VISIBLE, IS_VISIBLE_SQL
from apps.memories.operations.memories import delete_memory, link_sources, set_text
from apps.memories.operations.superseding import supersede
from apps.memories.queries.memory_book import MemoryBook
from apps.memories.recallable import EXCEPTIONS_SQL, RECALLABLE_SQL, recallable
from apps.memories.verdicts import neighbours
from apps.memories.verdicts.neighbours import ComparisonScope, find_neighbours, neighbours_by_words
from apps.memories.witnesses import NOBODY
from apps.prompts.retrieval.found import chosen_memories
from apps.prompts.turns import UserTurn
from apps.prompts.witnessing import Viewpoint
from apps.search.service import SearchQuery, search
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_character, make_chat, make_memory, parsed

TIERS = tuple(Memory.Tier.values)
BRANCH_POINT = 2  # the last message that the branches have of their parent
OF_CHARACTER = "home branch sibling elsewhere"
Change = Callable[["World", Memory], Any]


@dataclass(frozen=True)
class Case:
    """A memory learnt in ``chat`` from its message at ``at``, what became of it, and the chats that see it as active.

    ``later``: it is learnt after the branches were made, as is all that they learn themselves; changes come after that,
    too, but those ``at_once``. ``recalled_in``: the chats in which it may be told to a model, where these are others.
    """

    name: str
    chat: str
    at: int | None
    seen_in: str
    tier: str = "long_term"
    fields: dict[str, Any] = field(default_factory=dict)
    change: Change = lambda world, memory: None
    recalled_in: str | None = None
    later: bool = False
    at_once: bool = False

    @property
    def text(self) -> str:
        return f"The lantern of {self.name} hangs in the mill."


@dataclass
class World:
    """A story of Mira with two branches, another story of hers, one of Tom's, and a stranger's."""

    owner: User
    chats: dict[str, Chat] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)

    def learn(self, place: str, at: int | None, text: str, tier: str = "long_term", **fields: Any) -> Memory:
        where = self.chats[place]
        message = Message.objects.for_owner(where.owner_id).get(chat=where, index=at) if at is not None else None
        given = {"tier": tier, "kind": "fact", "character": where.character, "valid_from": message} | fields
        memory = Memory(**{"owner_id": where.owner_id, "chat": where} | given)
        set_text(memory, text)
        memory.save()
        link_sources(where.owner_id, memory.pk, [message] if message else [])
        return memory

    @property
    def vector(self) -> tuple[str, Any]:
        """Return the model and the vector of one of the memories: with no limit, all are neighbours."""
        row = next(memory for memory in self.memories.values() if memory.embedding_model)
        return row.embedding_model, row.embedding

    def replace(self, memory: Memory, chat: str, at: int) -> None:
        successor = self.learn(chat, at, "Another one hangs there now.", character=memory.character)
        supersede(self.chats[chat], memory.pk, successor)


def replaced_in(chat: str, at: int) -> Change:
    return lambda world, memory: world.replace(memory, chat, at)


def retired_in_branch(world: World, memory: Memory) -> None:
    rows = Inheritance.objects.for_owner(world.owner).filter(chat=world.chats["branch"], memory=memory)
    assert rows.update(state="retired", retired_reason="by_hand") == 1


def retired_at_home(world: World, memory: Memory) -> None:
    Memory.objects.for_owner(world.owner).filter(pk=memory.pk).update(state="retired", retired_reason="by_hand")


CASES = [
    Case("Ada", "home", 1, OF_CHARACTER),
    Case("Bea", "home", 1, "home branch sibling", tier="session"),
    Case("Cid", "home", 4, "home elsewhere", later=True),
    Case("Dan", "home", 4, "home", tier="session", later=True),
    Case("Eva", "branch", 4, "branch elsewhere", later=True),
    Case("Fay", "branch", 4, "branch", tier="session", later=True),
    Case("Gus", "elsewhere", 1, OF_CHARACTER),
    Case("Hal", "elsewhere", 1, "elsewhere", tier="session"),
    Case("Ida", "elsewhere", 1, OF_CHARACTER, fields={"expiration": "session"}, recalled_in="elsewhere"),
    Case("Jim", "home", 1, OF_CHARACTER, fields={"expiration": "session"}, recalled_in="home branch sibling"),
    Case("Kay", "home", 1, OF_CHARACTER, fields={"hidden": True}, recalled_in=""),
    Case("Leo", "home", 1, OF_CHARACTER, fields={"pinned": True}),
    Case("Max", "home", 1, "", change=lambda world, memory: delete_memory(memory)),
    Case("Ned", "home", 1, "branch sibling", change=retired_at_home),
    Case("Oda", "home", 1, "home sibling elsewhere", change=retired_in_branch),
    Case("Pia", "home", 1, "", tier="session", fields={"in_bin": True}),
    Case("Quinn", "home", 1, "", fields={"in_bin": True}),
    Case("Ron", "home", 1, "branch sibling", change=replaced_in("home", 4)),
    Case("Sam", "home", 1, "home sibling elsewhere", change=replaced_in("branch", 4)),
    Case("Tess", "elsewhere", 1, "", change=replaced_in("home", 1), at_once=True),
    Case("Uma", "elsewhere", 1, "home sibling", change=replaced_in("branch", 4)),
    Case("Viv", "elsewhere", 1, "branch sibling", change=replaced_in("home", 4)),
    Case("Wes", "home", 1, "", change=replaced_in("elsewhere", 1)),
    Case("Xia", "home", None, OF_CHARACTER, fields={"chat": None}, later=True),
    Case("Yan", "toms", 1, "toms"),
    Case("Zoe", "kept", 1, OF_CHARACTER),
    Case("Abe", "stranger", 1, "stranger"),
]
TEXTS = ("Hello.", "Good day.", "How are you?", "Fine.", "And you?", "Well.")
READ = ("home", "branch", "sibling", "elsewhere", "toms")


@pytest.fixture
def world(db: None) -> World:
    owner = UserFactory()
    mira, tom = make_character(owner), make_character(owner, "Tom")
    stranger = UserFactory()
    world = World(owner)
    world.chats |= {name: make_chat(owner, *TEXTS, character=mira) for name in ("home", "elsewhere", "kept")}
    world.chats["toms"] = make_chat(owner, *TEXTS, character=tom)
    world.chats["stranger"] = make_chat(stranger, *TEXTS, character=make_character(stranger))
    _learn(world, (case for case in CASES if not case.later))
    home = world.chats["home"]
    for name in ("branch", "sibling"):
        world.chats[name] = branch_chat(owner, home.pk, BRANCH_POINT)
        world.chats[name] = make_longer(world.chats[name], TEXTS[BRANCH_POINT + 1 :])
    _learn(world, (case for case in CASES if case.later))
    for case in CASES:
        if not case.at_once:
            case.change(world, world.memories[case.name])
    delete_chat(world.chats["kept"], keep_memories=True)
    return world


def make_longer(chat: Chat, texts: Iterable[str]) -> Chat:
    return append_messages(chat.owner_id, chat.pk, [parsed(text) for text in texts]).chat


def _learn(world: World, cases: Iterable[Case]) -> None:
    for case in cases:
        world.memories[case.name] = world.learn(case.chat, case.at, case.text, case.tier, **case.fields)
        if case.at_once:
            case.change(world, world.memories[case.name])


def named(texts: Iterable[str]) -> set[str]:
    """Return the names of the cases with these texts."""
    names = {case.text: case.name for case in CASES}
    return {names[text] for text in texts if text in names}


def expected(chat: str, *, recalled: bool = False) -> set[str]:
    return {
        case.name
        for case in CASES
        if chat in (case.seen_in if not recalled or case.recalled_in is None else case.recalled_in).split()
    }


def in_book(world: World, chat: Chat) -> set[str]:
    book = MemoryBook(world.owner.pk, chat=chat, character=chat.character)
    return named(memory.text for memory in book.active(book.memories()))


def in_search(world: World, chat: Chat) -> set[str]:
    query = SearchQuery("lantern", chat=chat.pk, character=chat.character_id, tiers=TIERS, limit=100)
    return named(result.text for result in search(world.owner, query).results)


def in_prompt(world: World, chat: Chat) -> set[str]:
    turn = UserTurn(chat, "Where is the lantern?", chat.message_count, None)
    every = Memory.objects.for_owner(world.owner).values_list("pk", flat=True)
    chosen = chosen_memories(turn, TIERS, chat.character, list(every))
    # Without a limit, what is found through the lists of candidates is the same.
    change_settings(world.owner, {"long_term_cap": 200, "session_cap": 200})
    again = chosen_memories(UserTurn(chat, turn.text, turn.index, None), TIERS, chat.character, ())
    assert {each.id for rows in again.values() for each in rows} == {
        each.id for rows in chosen.values() for each in rows
    }
    return named(memory.text for memories in chosen.values() for memory in memories)


def in_verdicts(world: World, chat: Chat) -> set[str]:
    found: set[str] = set()
    for tier in TIERS:
        model, vector = world.vector
        [rows] = find_neighbours(ComparisonScope(chat, tier, chat.character), [""], [], [vector], model)
        [others] = neighbours_by_words(
            ComparisonScope(chat, tier, chat.character), [""], [], ["The lantern hangs in the mill."]
        )
        assert {(row.id, row.deleted, row.ended) for row in rows} == {
            (row.id, row.deleted, row.ended) for row in others
        }
        found |= named(row.text for row in rows if not row.is_gone and row.same_tier)
    return found


def in_list(world: World, chat: Chat) -> set[str]:
    rows = client_of(world.owner).get("/api/v1/memories/", {"chat": chat.pk, "state": "active", "limit": 100}).json()
    return named(row["text"] for row in rows["results"])


@pytest.mark.parametrize(
    ("reader", "recalled"), [(in_book, False), (in_search, True), (in_prompt, True), (in_verdicts, False)]
)
def test_every_reader_sees_the_same_memories(
    world: World, monkeypatch: pytest.MonkeyPatch, reader: Callable[[World, Chat], set[str]], recalled: bool
) -> None:
    monkeypatch.setattr(neighbours, "MAX_NEIGHBOURS", 100)
    for name in READ:
        assert reader(world, world.chats[name]) == expected(name, recalled=recalled), name


# What is deleted or in the bin, and what other branches, another character's chats and strangers learnt.
NOT_IN_EXPORT = {
    "home": {"Eva", "Fay", "Hal", "Max", "Pia", "Quinn", "Yan", "Abe"},
    "branch": {"Cid", "Dan", "Hal", "Max", "Pia", "Quinn", "Yan", "Abe"},
    "sibling": {"Cid", "Dan", "Eva", "Fay", "Hal", "Max", "Pia", "Quinn", "Yan", "Abe"},
    "elsewhere": {"Bea", "Dan", "Fay", "Max", "Pia", "Quinn", "Yan", "Abe"},
}


def test_the_list_and_the_export_of_a_chat_agree_with_the_book(world: World) -> None:
    learnt = {"home": {"home"}, "branch": {"home", "branch"}, "sibling": {"home"}, "elsewhere": {"elsewhere"}}
    for name, chats in learnt.items():
        chat, seen = world.chats[name], expected(name)
        of_chat = {case.name for case in CASES if case.chat in chats and case.fields.get("chat", chat)}
        assert in_list(world, chat) == seen & of_chat, name
        exported = named(row["text"] for row in memory_export(chat, {})["memories"])
        assert seen <= exported
        assert exported & NOT_IN_EXPORT[name] == set()


POSITIONS = [
    # Learnt at a message of home, replaced at another: the messages after which home, and the branch, knew it.
    ("Aga", 0, None, range(6), range(6)),
    ("Ben", 2, None, range(2, 6), range(2, 6)),
    ("Cas", 3, None, range(3, 6), ()),
    ("Dov", 0, 1, range(1), range(1)),
    ("Els", 1, 4, range(1, 4), range(1, 6)),
    ("Fin", 4, 5, range(4, 5), ()),
]


def test_every_reader_sees_the_same_at_a_message(db: None) -> None:
    owner = UserFactory()
    world = World(owner)
    home = world.chats["home"] = make_chat(owner, *TEXTS, character=make_character(owner))
    for at in range(BRANCH_POINT + 1):
        learn_at(world, at)
    branch = make_longer(branch_chat(owner, home.pk, BRANCH_POINT), TEXTS[BRANCH_POINT + 1 :])
    for at in range(BRANCH_POINT + 1, len(TEXTS)):
        learn_at(world, at)
    for at in range(len(TEXTS)):
        for column, chat in ((3, home), (4, branch)):
            known = {row[0] for row in POSITIONS if at in row[column]}
            book = MemoryBook(owner.pk, chat=chat, character=chat.character)
            answer = client_of(owner).get("/api/v1/memories/", {"chat": chat.pk, "at": at}).json()["results"]
            every = list(Memory.objects.for_owner(owner).values_list("pk", flat=True))
            turn = UserTurn(chat, "Where is the lantern?", at + 1, None)
            told = chosen_memories(turn, TIERS, chat.character, every)
            assert {memory.text for memory in book.active(book.memories(), at)} & NAMES == known
            assert {row["text"] for row in answer} & NAMES == known
            assert {memory.text for memories in told.values() for memory in memories} & NAMES == known


NAMES = {name for name, *_ in POSITIONS}


def learn_at(world: World, at: int) -> None:
    """Learn what begins at a message of home, and replace what ends there."""
    for name, begins, ends, *_ in POSITIONS:
        if begins == at:
            world.memories[name] = world.learn("home", at, name)
        if ends == at:
            world.replace(world.memories[name], "home", at)


KNOWN_IN_GROUP = [
    # A memory of a group: its tier, whose it is, who witnessed it, and to whom it may be told.
    ("all", "session", "", (), {"Ada", "Ben", ""}),
    ("whisper", "session", "", ("Ada",), {"Ada"}),
    ("nobody", "session", "", ("nobody",), set()),
    ("own", "long_term", "Ada", (), {"Ada"}),
    ("of all", "long_term", "", (), {""}),
]


def test_every_reader_tells_a_member_of_a_group_the_same(db: None) -> None:
    owner = UserFactory()
    group = create_chat(owner, title="Group", user_name="Alice")
    characters = {"": None} | {name: make_character(owner, name) for name in ("Ada", "Ben")}
    members = {"nobody": NOBODY}
    for name in ("Ada", "Ben"):
        members[name] = add_participant(owner, group.pk, name=name, character=characters[name]).pk
    group = append_messages(owner, group.pk, [parsed(text) for text in TEXTS]).chat
    world = World(owner, {"group": group})
    for name, tier, whose, heard, _ in KNOWN_IN_GROUP:
        fields = {"character": characters[whose], "witnessed_by": [members[one] for one in heard]}
        world.memories[name] = world.learn("group", 1, f"The lantern of {name} hangs there.", tier, **fields)
    ids = {memory.pk: name for name, memory in world.memories.items()}
    for who, character in characters.items():
        expected_ = {name for name, *_, told in KNOWN_IN_GROUP if who in told}
        view = Viewpoint(group, character)
        turn = UserTurn(group, "Where is the lantern?", group.message_count, None)
        told = chosen_memories(turn, TIERS, character, list(ids))
        query = SearchQuery("lantern", group.pk, character and character.pk, tiers=TIERS, witness=view.ids)
        assert {ids[memory.id] for memories in told.values() for memory in memories} == expected_
        assert {ids[result.id] for result in search(owner, query).results} == expected_
        assert {ids[pk] for pk in view.known_of(list(ids))} == expected_


def test_the_condition_of_the_indexes_is_one_for_the_orm_and_for_statements(db: None) -> None:
    chat = make_chat(UserFactory(), "Hello.")
    columns = ("state", "hidden", "in_bin", "deleted_at")
    for values in product(Memory.State.values, (False, True), (False, True), (None, timezone.now())):
        make_memory(chat, f"Memory {values}.", **dict(zip(columns, values, strict=True)))
    rows = Memory.with_bin.for_owner(chat.owner_id)
    by_orm = set(rows.filter(IS_VISIBLE).values_list("pk", flat=True))
    by_sql = set(rows.extra(where=[IS_VISIBLE_SQL]).values_list("pk", flat=True))
    assert by_orm == by_sql
    assert 0 < len(by_orm) < rows.count()


def test_the_conditions_in_sql_lack_no_memory_that_a_prompt_may_tell(world: World) -> None:
    for name, tier in product(READ, Memory.Tier):
        chat = world.chats[name]
        last = chat.message_count - 1
        of_chat = {"owner": chat.owner_id, "chat": chat.pk, "story": chat.story, "character": chat.character_id}
        lists = [f"SELECT id FROM memories_memory WHERE {RECALLABLE_SQL[tier]}", *EXCEPTIONS_SQL[tier]]
        sql = " UNION ".join(f"({rows})" for rows in lists)
        told = recallable(chat, tier, chat.character_id, None).known_at(chat, last)
        met = told.filter(pk__in=ids_of(sql, **of_chat, witness=None, index=last, scene_end=-1))
        assert set(met) == set(told), (name, tier)
        assert tier == Memory.Tier.SESSION or told, name
