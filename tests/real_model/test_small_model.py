"""What a real small model keeps of passages, by plan, and whether memory helps it to answer. Tables are printed.

Run by ``make e2e-model``, which downloads the model once. The passages are those of this folder, or those of the file
that LOCI_TEST_PASSAGES names.
"""

import os
from collections.abc import Iterator

import pytest

from apps.accounts.models import User
from apps.extraction.models import ExtractionRun
from apps.extraction.settings.operations import change_settings
from apps.llm.backends.connected import ConnectedBackend
from apps.llm.generation import GenerationRequest, PromptMessage
from apps.llm.models import Connection
from apps.llm.operations import create_connection, use_for
from tests.extraction.engine.story import read
from tests.factories import UserFactory
from tests.prompts.requests import assemble
from tests.real_model.measuring import chat_of, is_told, measure, passages, table
from tests.real_model.serving import URL, model_server

MODEL = os.environ.get("LOCI_TEST_SMALL_MODEL", "")  # the path of its weights
CONTEXT = 4096
MAX_TRAPS = 0.34  # share of the traps of the few passages of this folder
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not (MODEL or URL), reason="a real model is called by make e2e-model only"),
]
# What one of the first messages of a conversation tells, a question about it after the history was cut, and the answer.
TOLD = (
    ("My sister Leyla lives in Bergen.", "In which city does my sister live?", "Bergen"),
    ("I can't eat sesame, it makes my throat swell.", "What must I not eat?", "sesame"),
    ("I keep the spare key under the blue pot.", "Where is my spare key?", "pot"),
    ("My dog is called Biscuit.", "What is my dog called?", "Biscuit"),
    ("I start at the library on the third of May.", "Where do I start work in May?", "library"),
    ("I play the cello.", "Which instrument do I play?", "cello"),
)
FILLER = ("The rain hasn't stopped all day here.", "Then it is a good day for tea and a book.")


@pytest.fixture(scope="module")
def server_url() -> Iterator[str]:
    if URL:
        yield URL
        return
    with model_server(MODEL) as url:
        yield url


@pytest.fixture
def owner() -> User:
    return UserFactory()


@pytest.fixture
def connection(owner: User, server_url: str) -> Connection:
    connection = create_connection(
        owner,
        name="Small",
        base_url=server_url,
        api_key=os.environ.get("LOCI_TEST_MODEL_KEY", ""),
        model=os.environ.get("LOCI_TEST_MODEL", "qwen2.5-coder-1.5b"),
        context_tokens=CONTEXT,
        timeout=600,
    )
    use_for(connection, generation=True)
    return connection


def test_what_is_kept_of_passages_in_plain_questions(owner: User, connection: Connection) -> None:
    change_settings(owner, {"index_messages": False})
    rows = [measure(owner, passage) for passage in passages()]
    for row in rows:
        print(f"\n{row.name}:", *row.texts, sep="\n  ")
    print(f"\n{table(rows)}")
    assert not ExtractionRun.objects.for_owner(owner).exclude(state="succeeded").exists()
    kept, traps = (sum(row.figures[name] for row in rows) for name in ("kept", "stored"))
    assert kept > 0
    assert traps <= MAX_TRAPS * sum(row.figures["traps"] for row in rows)
    for row, passage in zip(rows, passages(), strict=True):
        said = [text for _, text in passage["messages"]]
        assert not [text for text in row.texts if text in said], "a message was copied"
        assert len(set(row.texts)) == len(row.texts)


def test_memory_answers_what_the_history_no_longer_has(owner: User, connection: Connection) -> None:
    change_settings(owner, {"index_messages": False})
    messages = [("Ada", text) for told, _, _ in TOLD for text in (told,)]
    chat = chat_of(owner, {"name": "Questions", "character": "Bram", "user": "Ada", "messages": messages})
    read(chat)
    right = {"on": 0, "off": 0}
    for _, question, answer in TOLD:
        memory = "\n".join(
            slot.text
            for slot in assemble(
                chat, text=question, character=None, context_tokens=1500, with_history=False, leave_trace=False
            ).slots
        )
        for name, known in (("on", memory), ("off", "")):
            right[name] += is_told([answer], [_answer(connection, known, question)])
    print(f"\nmemory on: {right['on']} of {len(TOLD)} right, off: {right['off']}")
    assert right["on"] > right["off"]


def _answer(connection: Connection, memory: str, question: str) -> str:
    messages: list[PromptMessage] = [
        {"role": "system", "content": f"You are Bram, a friend of Ada. {memory}".strip()},
        {"role": "user", "content": FILLER[0]},
        {"role": "assistant", "content": FILLER[1]},
        {"role": "user", "content": question},
    ]
    return ConnectedBackend(connection).generate(GenerationRequest("reply", messages, max_tokens=40)).text
