"""What a real small model keeps of passages, by plan, and whether memory helps it to answer. Tables are printed.

Run by ``make e2e-model``, which downloads the model once. The passages are those of this folder, or those of the file
that LOCI_TEST_PASSAGES names.
"""

import os
from collections.abc import Iterator, Sequence

import pytest

from apps.accounts.models import User
from apps.extraction.models import ExtractionRun
from apps.extraction.settings.stores import change_settings
from apps.extraction.suitability.running import SuitabilityReport, run
from apps.llm.backends.connected import ConnectedBackend
from apps.llm.generation import GenerationRequest, PromptMessage, unwatched
from apps.llm.models import Connection
from apps.llm.operations import create_connection, use_for
from tests.extraction.engine.story import read
from tests.extraction.test_suitability import reply_of
from tests.factories import UserFactory
from tests.llm.scripted_server import ScriptedServer
from tests.prompts.requests import assemble
from tests.real_model.measuring import chat_of, is_told, measure, passages, table
from tests.real_model.serving import PYTHON, URL, model_server

MODEL = os.environ.get("LOCI_TEST_SMALL_MODEL", "")  # the path of its weights
CONTEXT = 4096
MAX_TRAPS = 0.34  # share of the traps of the few passages of this folder
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(7200),  # a busy machine takes many times as long as an idle one
    pytest.mark.skipif(not (MODEL or URL), reason="a real model is called by make e2e-model only"),
]
# Conversations: what their second turn tells, and questions about it with the answers, which their 18th turn asks.
TOLD: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "My sister Leyla lives in Bergen. I can't eat sesame, it makes my throat swell. I play the cello. My dog is "
        "called Biscuit.",
        (
            ("In which city does my sister live?", "Bergen"),
            ("What must I not eat?", "sesame"),
            ("Which instrument do I play?", "cello"),
            ("What is my dog called?", "Biscuit"),
        ),
    ),
    (
        "I keep the spare key under the blue pot. On the third of May I start at the library. My landlord is called "
        "Quillan. I drive an old Saab.",
        (
            ("Where is my spare key?", "pot"),
            ("Where do I start work in May?", "library"),
            ("What is my landlord's name?", "Quillan"),
            ("Which car do I drive?", "Saab"),
        ),
    ),
    (
        "My son Idris turned seven last week. He collects stamps. My wife Odette is a nurse. We are from Tampere.",
        (
            ("How old is my son?", "seven|7"),
            ("What does my son collect?", "stamps|stamp"),
            ("What is my wife's job?", "nurse"),
            ("From which town are we?", "Tampere"),
        ),
    ),
    (
        "I was born in Quito. I'm afraid of moths. My favourite tea is rooibos. My brother Casper owes me 300 euros.",
        (
            ("Where was I born?", "Quito"),
            ("Which animal am I afraid of?", "moth|moths"),
            ("Which tea do I like best?", "rooibos"),
            ("Who owes me money?", "Casper"),
        ),
    ),
    (
        "My cat Pixel has diabetes. I go fencing on Thursdays. My boss is called Marguerite. I'm writing a book about "
        "lighthouses.",
        (
            ("Which illness does my cat have?", "diabetes"),
            ("Which sport do I do on Thursdays?", "fencing|fence"),
            ("What is my boss called?", "Marguerite"),
            ("What is my book about?", "lighthouse|lighthouses"),
        ),
    ),
)
QUESTIONS = sum(len(questions) for _, questions in TOLD)
GREETING, FILLER = "Good evening, Ada.", ("Oh well.", "Tell me.", "The rain hasn't stopped all day here.", "Go on.")
TURNS, SHOWN = 18, 4  # turns before the question, and those of them that the prompt still has
LEAST_RIGHT, MOST_GUESSED = 12, 4  # of 20 answers, with memory and without


ASKED = ("plain", "long_term", "reading")  # questions of the suitability test: all of them take an hour


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
    rows = []
    for passage in passages():
        rows.append(measure(owner, passage))  # shown at once: a passage takes minutes
        print(f"\n{rows[-1].name}:", *rows[-1].texts, rows[-1].figures, sep="\n  ", flush=True)
    print(f"\n{table(rows)}")
    assert not ExtractionRun.objects.for_owner(owner).exclude(state="succeeded").exists()
    kept, traps = (sum(row.figures[name] for row in rows) for name in ("kept", "stored"))
    assert kept > 0
    assert traps <= MAX_TRAPS * sum(row.figures["traps"] for row in rows)
    for row, passage in zip(rows, passages(), strict=True):
        said = [text for _, text in passage["messages"]]
        assert not [text for text in row.texts if text in said], "a message was copied"
        assert len(set(row.texts)) == len(row.texts)


@pytest.mark.skipif(not PYTHON, reason="SmolLM2 is served by make e2e-model only")
def test_the_suitability_test_orders_models_and_names_a_plan_for_each(owner: User, connection: Connection) -> None:
    reports: dict[str, SuitabilityReport] = {}
    with model_server() as tiny, ScriptedServer(reply_of) as perfect:
        models = {"SmolLM2": tiny, "small": connection.base_url, "perfect": perfect.url}
        for name, url in models.items():
            made = create_connection(
                owner, name=name, base_url=url, model=name, context_tokens=CONTEXT, timeout=600, stream=True
            )
            reports[name] = run(ConnectedBackend(made), unwatched, lambda tier: None, tasks=ASKED)
            for tier in reports[name].tiers:
                print(f"{name:>8} {tier.task:>10} {tier.score:>4} {tier.seconds:>7.1f} s", flush=True)
            print(f"{name:>8} plan: {reports[name].plan}, the built-in reader: {reports[name].without}", flush=True)
    totals = [sum(tier.score for tier in reports[name].tiers) for name in models]
    assert totals == sorted(totals)
    assert totals[-1] > totals[0]
    assert reports["perfect"].plan == "one"
    assert reports["SmolLM2"].plan == "builtin"
    assert reports["small"].plan in ("small", "builtin", "separate")


def test_memory_answers_what_the_history_no_longer_has(owner: User, connection: Connection) -> None:
    change_settings(owner, {"index_messages": False})
    right = {"on": 0, "off": 0}
    for number, (told, questions) in enumerate(TOLD):
        # The third to the last turn are small talk, of which the newest stand in the prompt.
        spoken = [GREETING, told, *(FILLER[turn % len(FILLER)] for turn in range(TURNS - 2))]
        messages = [("Bram" if turn % 2 == 0 else "Ada", text) for turn, text in enumerate(spoken)]
        chat = chat_of(
            owner, {"name": f"Talk {number}", "character": f"Bram {number}", "user": "Ada", "messages": messages}
        )
        read(chat)
        chat.refresh_from_db()  # the number of its messages
        # What the prompt still says itself is not recalled.
        still_there = list(chat.messages.order_by("-index").values_list("pk", flat=True)[:SHOWN])
        for question, answer in questions:
            assembled = assemble(
                chat,
                text=question,
                character=None,
                context_tokens=1500,
                with_history=False,
                sent_ids=still_there,
                leave_trace=False,
            )
            known = "\n".join(slot.text for slot in assembled.slots if slot.text)
            print(f"recalled for {question!r}: {known!r}")
            for name, memory in (("on", known), ("off", "")):
                said = _answer(connection, memory, messages[-SHOWN:], question)
                right[name] += is_told([answer], [said])
                print(f"{question} memory {name}: {said!r} ({answer})", flush=True)
    print(f"\nmemory on: {right['on']} of {QUESTIONS} right, off: {right['off']}")
    assert right["on"] >= LEAST_RIGHT
    assert right["off"] <= MOST_GUESSED


def _answer(connection: Connection, memory: str, shown: Sequence[tuple[str, str]], question: str) -> str:
    messages: list[PromptMessage] = [
        {"role": "system", "content": f"You are Bram, a friend of Ada. {memory}".strip()},
        *({"role": "user" if name == "Ada" else "assistant", "content": text} for name, text in shown[:-1]),
        {"role": "user", "content": question},
    ]
    return ConnectedBackend(connection).generate(GenerationRequest("reply", messages, max_tokens=40)).text
