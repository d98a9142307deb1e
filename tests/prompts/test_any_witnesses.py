"""For any memories, witnesses, settings and budgets: no prompt of a group's member tells what they must not know."""

from itertools import chain

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.chats.models import Character, Chat
from apps.chats.operations import add_participant, append_messages
from apps.llm.embeddings import get_embedder
from apps.memories.models import Arc, Memory
from apps.prompts.models import Recall
from apps.prompts.operations import edit_recall
from apps.prompts.settings.schema import resolve
from apps.prompts.turns import find_turn
from apps.search.indexing import index_messages
from tests.factories import UserFactory, make_character, make_chat, make_memory, parsed
from tests.prompts.requests import assemble
from tests.properties import HISTORIES

NAMES = ("Mira", "Tom", "Zoe")
SUBJECTS = ("silver key", "harbour", "lighthouse")
TALK = 24  # messages after which what was said is not in the history of a small context

witnesses = st.one_of(st.none(), st.lists(st.sampled_from(NAMES), unique=True))
said = st.lists(st.tuples(st.sampled_from(NAMES), witnesses), max_size=3)
memories = st.lists(
    st.tuples(
        st.sampled_from(["session", "long_term"]),
        witnesses,
        st.sampled_from(["told", "hidden", "retired"]),
        st.booleans(),
    ),
    max_size=4,
)
templates = st.sampled_from(["Known: {{entries}}", "{{entries}}", "{{entries}} (all)"])
documents = st.fixed_dictionaries(
    {"mode": st.sampled_from(["simple", "advanced", "unified", "macros"]), "force_macros": st.booleans()},
    optional={f"{name}_budget": st.sampled_from([0, 20, 400]) for name in ("session", "long_term", "triggered", "arcs")}
    | {f"{name}_template": templates for name in ("session", "long_term", "triggered")},
)


@pytest.fixture
def members(db: None) -> tuple[User, list[Character]]:
    user = UserFactory()
    return user, [make_character(user, name) for name in NAMES]


@settings(
    max_examples=HISTORIES,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(early=said, late=said, turn=witnesses, remembered=memories, document=documents, is_edited=st.booleans())
def test_no_prompt_tells_a_member_what_they_must_not_know(
    members, early, late, turn, remembered, document, is_edited
) -> None:
    """Each text has a mark of its own: neither slots, macros, the one block nor the history of others may have it.

    Where nobody is named who speaks, the prompt has no mark that is kept from any of them.
    """
    user, characters = members
    chat, kept_from = make_group(user, characters, early, late, turn, remembered)
    forms = resolve([document])
    for character in [*characters, None]:
        prompt = assemble(chat, text=None, character=character, context_tokens=4000, with_history=True, settings=forms)
        placed = [slot.text for slot in prompt.slots]
        history = [message["content"] for message in prompt.messages or []]
        whole = "\n".join([*placed, *prompt.macros.values(), prompt.unified or "", *history])
        kept = kept_from[character.name] if character else chain(*kept_from.values())
        assert not [mark for mark in kept if mark in whole]
        recall = Recall.objects.for_owner(user).filter(chat=chat, edited=False, deleted=False).exclude(text="").first()
        if is_edited and recall is not None:
            edit_recall(recall, f"{recall.text}!", turn_hash=find_turn(chat, None).hash)


FATES = ("told", "hidden", "retired", "in the bin", "unwitnessed")


@settings(
    max_examples=HISTORIES,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    remembered=st.lists(
        st.tuples(st.sampled_from(["session", "long_term"]), st.sampled_from(FATES), st.booleans()),
        min_size=1,
        max_size=5,
    ),
    document=documents,
    template=templates,
    with_vectors=st.booleans(),
)
def test_no_prompt_of_two_tells_what_is_hidden_retired_or_was_not_witnessed(
    members, remembered, document, template, with_vectors
) -> None:
    """Outside groups: what another member of a group learnt is no more told than what is hidden."""
    user, (mira, tom, _) = members
    group = make_chat(user)
    ids = {one.name: add_participant(user, group.pk, name=one.name, character=one).pk for one in (mira, tom)}
    chat = make_chat(user, *["We walk on."] * TALK, "Where is the silver key?", character=mira)
    make_memory(chat, "The harbour is closed.", pinned=True)
    kept = []
    embedder = get_embedder()
    for number, (tier, fate, pinned) in enumerate(remembered):
        text = f"The silver key is below the stone [{fate} {number} {chat.pk.hex[-5:]}]."
        vector = {"embedding": embedder.embed([text])[0], "embedding_model": embedder.model} if with_vectors else {}
        is_elsewhere = fate == "unwitnessed"
        make_memory(
            group if is_elsewhere else chat,
            text,
            tier=tier,
            pinned=pinned,
            character=tom if is_elsewhere else mira,  # whose long-term memory it is, knows it
            hidden=fate == "hidden",
            state=Memory.State.RETIRED if fate == "retired" else Memory.State.ACTIVE,
            deleted_at=timezone.now() if fate == "in the bin" else None,
            witnessed_by=[ids["Tom"]] if is_elsewhere else [],
            **vector,
        )
        if fate != "told":
            kept.append(text)
    for forms in (resolve([document]), resolve([])):
        prompt = assemble(chat, text=None, character=None, context_tokens=4000, with_history=True, settings=forms)
        whole = "\n".join(
            [
                *(slot.text for slot in prompt.slots),
                *prompt.macros.values(),
                prompt.unified or "",
                prompt.recall.text if prompt.recall else "",
                *(message["content"] for message in prompt.messages or []),
            ]
        )
        assert not [text for text in kept if text in whole]
    assert "The harbour is closed." in whole
    # Another reply to the turn uses the stored recall, which was rendered by the templates.
    forms = resolve([{f"{name}_template": template for name in ("session", "long_term", "triggered")}])
    assemble(chat, text=None, character=None, context_tokens=4000, with_history=False, settings=forms)
    Memory.objects.for_owner(user).filter(chat=chat).exclude(text="The harbour is closed.").update(hidden=True)
    again = assemble(
        chat, text=None, character=None, context_tokens=4000, with_history=False, settings=forms, keep_recall=True
    )
    assert "silver key is below" not in "\n".join([again.unified or "", *again.macros.values()])
    assert "The harbour is closed." in "\n".join(again.macros.values())


def make_group(user, characters, early, late, turn, remembered) -> tuple[Chat, dict[str, list[str]]]:
    """Return a group in which these things were said and are remembered, and the marks to be kept from each member."""
    chat = make_chat(user)
    ids = {}
    for character in characters:
        ids[character.name] = add_participant(user, chat.pk, name=character.name, character=character).pk
    kept_from: dict[str, list[str]] = {name: [] for name in NAMES}

    def message(number, author, names, **fields):
        mark = f"[said {number} {chat.pk.hex[-5:]}]"
        for name in NAMES:
            if names is not None and name not in names and name != author:
                kept_from[name].append(mark)
        extra = {} if names is None else {"loci": {"witnesses": names}}
        text = f"The {SUBJECTS[number % 3]} is below the stone {mark}."
        return parsed(text, extra=extra, **(fields or {"name": author}))

    messages = [message(number, *item) for number, item in enumerate(early)]
    messages += [parsed(f"We walk on for mile {number}.", name="Tom") for number in range(TALK)]
    messages += [message(10 + number, *item) for number, item in enumerate(late)]
    messages.append(message(21, "", turn, is_user=True))
    result = append_messages(user, chat.pk, messages)
    index_messages(user, chat)
    for number, item in enumerate(remembered):
        _remember(result.chat, ids, characters, kept_from, number, *item)
    _open_arcs(result.chat, result.messages[: len(early)], kept_from, early)
    return result.chat, kept_from


def _remember(chat, ids, characters, kept_from, number, tier, names, state, pinned) -> None:
    mark = f"[memory {number} {chat.pk.hex[-5:]}]"
    owner = characters[number % 3]
    knowing = NAMES if names is None else names
    if tier == "long_term":
        knowing = [owner.name]
    for name in NAMES:
        if state != "told" or name not in knowing:
            kept_from[name].append(mark)
    embedder, text = get_embedder(), f"The {SUBJECTS[number % 3]} is below the stone {mark}."
    make_memory(
        chat,
        text,
        tier=tier,
        pinned=pinned,
        character=owner if tier == "long_term" else None,
        witnessed_by=[] if names is None else [ids[name] for name in names] or ["00000000-0000-0000-0000-000000000000"],
        hidden=state == "hidden",
        state=Memory.State.RETIRED if state == "retired" else Memory.State.ACTIVE,
        embedding=embedder.embed([text])[0],
        embedding_model=embedder.model,
    )


def _open_arcs(chat, messages, kept_from, early) -> None:
    for number, (message, (author, names)) in enumerate(zip(messages, early, strict=True)):
        mark = f"[arc {number} {chat.pk.hex[-5:]}]"
        Arc.objects.create(owner_id=chat.owner_id, chat=chat, text=f"Who has it? {mark}", source=message)
        for name in NAMES:
            if names is not None and name not in names and name != author:
                kept_from[name].append(mark)
