"""The question about what is uncertain after a reading: all of it is asked, and one refusal doesn't end it."""

import re

import pytest

from apps.accounts.models import User
from apps.memories.queries.memories import active_memories
from tests.extraction.engine import storyteller
from tests.extraction.engine.conftest import tune
from tests.extraction.engine.story import append, read, tell
from tests.lanes import sampled
from tests.llm.scripted_server import Reply, Request, ScriptedServer

LT = {"tiers": ["long_term"]}
PAIR = re.compile(r"^(\d+)\. older: (.*)\n +newer: (.*)$", re.MULTILINE)
FILTERED = Reply(status=400, raw=b'{"error": {"message": "content filter", "code": "content_filter"}}')
PEOPLE = (
    "Anna Bertram Cecily Duncan Edith Fergus Greta Hugo Isolde Jasper "
    "Karl Lena Mona Nils Otto Petra Quinn Rosa Sven Tilda"
).split()


def update_of_one_person(request: Request) -> str:
    """The model's answers: two statements about one person are an update."""
    pairs = PAIR.findall(request.prompt)
    answers = [(n, "UPDATE" if old.split()[0] == new.split()[0] else "INDEPENDENT") for n, old, new in pairs]
    return "\n".join(f"[pair:{number}] {answer}" for number, answer in answers) or "NONE"


@pytest.mark.parametrize("reading", sampled(["one", "separate"], 1))
def test_each_uncertain_statement_is_asked_about(owner: User, server: ScriptedServer, reading: str) -> None:
    server.reply_to(lambda request: storyteller.task_of(request) in ("review", "pairs"), update_of_one_person)
    chat = tell(owner, *(f"FACT(2): {name} lives in the house by the old harbour." for name in PEOPLE), "Good.", "Yes.")
    tune(chat, reading=reading, new_per_kind=50, consolidate_fact=100, chunk=50)
    read(chat, **LT)
    append(chat, *(f"FACT(2): {name} moved to the tower by the northern gate." for name in PEOPLE), is_user=True)
    append(chat, "Yes.")
    read(chat, **LT)
    asked = {pair[1:] for request in server.requests for pair in PAIR.findall(request.prompt)}
    texts = set(active_memories(chat, "long_term", chat.character_id).values_list("text", flat=True))
    for old, new in asked:
        if old.split()[0] == new.split()[0]:
            assert not {old, new} <= texts, "it was asked about and not heeded"
    moved = {f"{name} moved to the tower by the northern gate." for name in PEOPLE}
    assert len(moved & {new for _, new in asked}) >= 16, "nearly each statement is compared with the nearest known one"


def test_a_memory_that_a_filter_refuses_ends_no_later_comparison(owner: User, server: ScriptedServer) -> None:
    server.reply_to(lambda request: storyteller.task_of(request) in ("review", "pairs"), update_of_one_person)
    server.reply_to(lambda request: storyteller.task_of(request) == "review" and "Poison" in request.prompt, FILTERED)
    told = "FACT(2): Mira lives in Oslo.\nFACT(2): Poison oak is red.", "FACT(2): Tom hates cabbage.", "Fine.", "Good."
    chat = tell(owner, *told)
    tune(chat, reading="one", consolidate_fact=2)
    read(chat, **LT)
    run = None
    for text in ("FACT(2): Mira lives in Rome now.", "FACT(2): Mira lives in Lima now."):
        append(chat, text, "Good.", is_user=True)
        run = read(chat, **LT)
        assert run.state == "succeeded"
    texts = set(active_memories(chat, "long_term", chat.character_id).values_list("text", flat=True))
    assert "Mira lives in Lima now." in texts
    assert not {"Mira lives in Oslo.", "Mira lives in Rome now."} & texts
    unused = [line for past in chat.runs.all() for step in past.steps.all() for line in step.unused_lines]
    assert any("content filter" in line for line in unused), "the run's page says so"
