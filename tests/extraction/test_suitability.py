"""Suitability test of models: scores, hints, and the command."""

import json
from collections.abc import Callable, Collection
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.extraction.models import ExtractionRun, ModelCall
from apps.extraction.prompts.overrides import set_template
from apps.extraction.prompts.rendering import TASKS, default_template
from apps.extraction.suitability.expectations import Expectation, ReplyStatement
from apps.extraction.suitability.running import SuitabilityReport, question_count, run
from apps.extraction.suitability.scenarios import trials
from apps.extraction.suitability.scoring import TrialResult, score_reply
from apps.llm.backends.builtin import BuiltinBackend
from apps.llm.generation import Completion, GenerationFailed, GenerationRequest, Watch, unwatched
from apps.llm.models import Connection
from apps.llm.operations import create_connection, use_for
from apps.memories.models import Memory
from tests.durations import takes_at_most
from tests.factories import UserFactory
from tests.llm.scripted_server import Reply, Request, ScriptedServer

TRIALS = {trial.task: trial for trial in trials()}
GOOD_REPLIES = {
    "long_term": """
[fact:2:permanent:source=2:entity=Tobias/character] Tobias Renn left the clockmakers' guild in Harn and has a shop now.
[fact:2:permanent:source=1] Ilka Brandt is an inspector of the harbour police in Vessen.
[fact:3:permanent:source=5] Ilka has a shellfish allergy that would put her in hospital.
[relationship:3:permanent:source=8] Tobias is in debt to Mayor Holm: six hundred crowns.
[event:3:permanent:source=11] Ilka's brother Anton died at sea off Cape Morrow; she avoids boats.
[event:2:permanent:source=6] Tobias made a lamp clock for the mayor, Holm, who paid in cash.
[fact:3:session:source=20] The keeper Josef Lind is alive and hiding in the lighthouse.
[event:3:permanent:source=22] Holm's men carried crates of rifles into the salt house.
[relationship:2:permanent:source=24] Tobias no longer works for Mayor Holm.
[relationship:3:permanent:source=27] Ilka now trusts Tobias, whom she had come to arrest.""",
    "session": """
[detail:2:session:source=3] Ilka found a brass gear on the stairs of the lighthouse.
[revelation:3:session:source=7] Mayor Holm lied: he denied that he ever bought from Tobias.
[detail:2:session:source=13] Ilka has a cut in her left hand.
[revelation:3:session:source=15] The page for the fourteenth is torn out of the logbook.
[revelation:3:session:source=16,17] The Kestrel, Holm's schooner, came at two at night without lights.
[revelation:3:session:source=20] Josef Lind was found behind the wall, alive.
[revelation:3:session:source=22] There are crates of rifles in the salt house.
[development:3:session:source=26] Ilka gave Tobias her brother's watch to repair.
[development:3:session:source=29] They agreed to meet at midnight by the north gate.""",
    "arcs": """
[arc] Ilka wants to learn who buys Mayor Holm's rifles before she arrests anybody.
[arc] Ilka and Tobias mean to search the salt house at midnight.
[arc] Josef has to stay hidden until there is proof.
[arc] Tobias has promised to make Anton's watch run again.
[resolved:1] Josef was found alive.
[resolved:2] Tobias made the gear for Holm.""",
    "summary": """[SUMMARY]
1. Scene and setting: the dark lighthouse at Cape Morrow, at night
2. Who is present: Ilka, with a bandaged hand; Tobias; Josef Lind, who hides
3. Key events: They found a torn page in the logbook, and Josef alive. Ilka gave Tobias Anton's watch.
4. Relationships: Ilka trusts Tobias.
5. What was revealed: Holm lied; his men store rifles. Anton drowned nine years ago.
6. Open threads: who buys the rifles
7. What the user wants: to see it through
8. The current moment: They agree on a plan.
9. What comes next: They meet at midnight by the north gate.
[/SUMMARY]""",
    "scene_recap": "In the lighthouse at Cape Morrow, Ilka and Tobias found Josef. He had seen Holm's rifles.",
    "epistemic": """
[knows] Yusuf | Helene has sold the vineyard to the bank.
[hiding] Helene from Marcus | She has sold the vineyard.
[hiding] Yusuf from Marcus | The vineyard is sold.
[believes] Marcus | The papers are the fire insurance.
[unaware] Marcus | Helene has sold the vineyard.
[suspects] Dora | Helene is secretly signing something away.
[hiding] Dora from Marcus | She broke the glass of the clock.
[unaware] Helene | Dora broke Grandmother's clock.
[retire] 1""",
    "ledger": """
[state:Ilse:character] location=crypt, by the altar | injuries=arrow in right shoulder | outfit=monk's habit
[state:Iron key:object] owner=Ilse | condition=a tooth broken off
[state:Silver reliquary:object] owner=Ilse | condition=dented lid
[state:Corvin:character] mood=frightened | location=bell tower
[state:Crypt of Saint Orm:place] hazards=rising water""",
    "relationships": """
Ilka -> Tobias: trusting(high), !suspicious
Tobias -> Ilka: loyal(medium)
Ilka -> Mayor Holm: distrustful(high)""",
    "profiles": """<character_state>
Goals: find out who buys Holm's rifles
Fears: going out on the water
</character_state>
<world_state>
Location: the lighthouse at Cape Morrow
Unresolved: the crates in the salt house
</world_state>
<relationship_matrix>
Ilka -> Tobias: trusts him
Ilka -> Mayor Holm: means to convict him
</relationship_matrix>""",
    "canon": """Who: Ilka Brandt is an inspector of the harbour police. Her brother Anton drowned nine years ago.

What happened: She found Josef Lind alive in the lighthouse.

Where things stand: She trusts Tobias.""",
    "plain": """Ilka Brandt is from the harbour police in Vessen.
Ilka found a small brass gear on the stairs of the lighthouse at Cape Morrow.
Ilka is allergic to shellfish.
Ilka's brother Anton drowned off Cape Morrow nine years ago.""",
    "reading": """
[break:13] In his shop, Tobias told Inspector Brandt whose gear it was. They set out for the lighthouse.
[fact:2:permanent:source=1] Ilka Brandt is an inspector of the harbour police in Vessen.
[fact:3:permanent:source=5] Ilka has a shellfish allergy that would put her in hospital.
[relationship:3:permanent:source=8] Tobias is in debt to Mayor Holm: six hundred crowns.
[event:3:permanent:source=11] Ilka's brother Anton died at sea off Cape Morrow; she avoids boats.
[revelation:3:session:source=15] The page for the fourteenth is torn out of the logbook.
[revelation:3:session:source=20] Josef Lind was found behind the wall, alive.
[revelation:3:session:source=22] There are crates of rifles in the salt house.
[development:3:session:source=29] They agreed to meet at midnight by the north gate.
[feels] Ilka -> Tobias: trusting(high), !suspicious
[arc] Ilka wants to learn who buys Mayor Holm's rifles before she arrests anybody.
[resolved:1] Josef was found alive.
[state:Ilka:character] location=lighthouse at Cape Morrow | injuries=cut in left hand
[hiding] Ilka from Mayor Holm | Josef Lind is alive.""",
    "continuity": """
[contradiction:1] Anton sat in her kitchen, but he drowned nine years ago.
[contradiction:2] Ilka eats prawns, to which she is allergic.""",
}


class Scripted:
    """Backend that returns the given reply to a task, or raises the given exception."""

    name, model, context_tokens, profile = "scripted", "scripted-small", 8192, "B"

    def __init__(self, replies: dict[str, Any]) -> None:
        self.replies = replies
        self.requests: list[GenerationRequest] = []

    def generate(self, request: GenerationRequest, watch: Watch = unwatched) -> Completion:
        watch()
        self.requests.append(request)
        reply = self.replies.get(request.task, "NONE")
        if isinstance(reply, Exception):
            raise reply
        return Completion(reply, 11, 7)


def run_all(backend: Any, **options: Any) -> SuitabilityReport:
    return run(backend, unwatched, lambda tier: None, **options)


@pytest.mark.parametrize("task", TRIALS)
def test_a_good_reply_scores_high(task: str) -> None:
    result = score_reply(TRIALS[task], GOOD_REPLIES[task])
    assert result.wrong == []
    assert result.unused_lines == []
    assert (result.score, result.verdict) == (100, "good"), result.missing
    assert result.raw == GOOD_REPLIES[task]


@pytest.mark.parametrize("task", TRIALS)
def test_a_good_reply_in_bullets_and_bold_scores_as_high(task: str) -> None:
    dressed = "\n".join(f"- {line}" if line.startswith("[") else line for line in GOOD_REPLIES[task].splitlines())
    if task != "summary":  # its frame is no list
        assert score_reply(TRIALS[task], f"```\n{dressed}\n```").score >= 95


@pytest.mark.parametrize("task", TRIALS)
@pytest.mark.parametrize(
    ("reply", "hint"),
    [
        ("", "It wrote nothing"),
        ("NONE", "It reported that there is nothing"),
        (" none.", "It reported that there is nothing"),
    ],
)
def test_an_empty_reply_scores_zero_with_a_hint(task: str, reply: str, hint: str) -> None:
    result = score_reply(TRIALS[task], reply)
    assert (result.score, result.verdict) == (0, "unsuitable")
    assert [line.startswith(hint) for line in result.hints] == [True]


@pytest.mark.parametrize("task", ["long_term", "session", "arcs", "epistemic", "ledger", "summary", "profiles"])
def test_prose_instead_of_lines_scores_zero_with_a_hint(task: str) -> None:
    result = score_reply(TRIALS[task], "I think that Ilka is a fine inspector, and that Tobias is right to trust her.")
    assert result.score == 0
    assert result.hints[0].startswith("It wrote prose")


@pytest.mark.parametrize("task", TRIALS)
def test_copied_examples_score_zero_with_a_hint(task: str) -> None:
    copied = default_template(task).partition("repeat")[2]
    result = score_reply(TRIALS[task], copied)
    assert result.score <= 15
    assert not result.found or result.wrong
    assert set(result.wrong[-1:]) <= {"It copied the examples of the prompt."}


def test_expectations_differ_from_the_examples_of_prompts() -> None:
    for trial in TRIALS.values():
        assert any(one.description == "It copied the examples of the prompt." for one in trial.forbidden)
        # A plain question has its example in an exchange before it.
        assert ("Oswin" in default_template(trial.task)) == (trial.task != "plain")
        told = {name: value for name, value in trial.material.items() if name != "forms"}
        assert "oswin" not in json.dumps(told).lower()


@pytest.mark.parametrize(
    ("task", "line", "hint"),
    [
        ("long_term", "[event:2] Josef ran off with the baker's wife.", "It reported the gossip"),
        ("long_term", "[fact:2] Holm is perhaps a smuggler.", "It reported guesses"),
        ("long_term", "[event:3] Josef was killed by Holm's men.", "It reported that Josef is dead"),
        ("session", "[detail:2] There is brandy in the crates.", "It reported a wrong guess"),
        ("arcs", "[arc] Where is Josef Lind hiding?", "It opened an arc that had just been resolved"),
        ("epistemic", "[knows] Marcus | Helene has sold the vineyard.", "It lets Marcus know of the sale"),
        ("epistemic", "[believes] Yusuf | The papers are an insurance.", "It lets Yusuf believe the lie"),
        ("epistemic", "[knows] Helene | Dora broke the clock.", "It lets somebody know who broke the clock"),
        ("ledger", "[state:Duke Albrecht:character] location=capital", "It lists somebody who is not in the scene"),
        ("ledger", "[state:Ilse:character] injuries=sprained ankle", "It still lists a wound that has healed"),
        ("ledger", "[state:Iron key:object] owner=Corvin", "It leaves the key with its former owner"),
        ("relationships", "Ilka -> Tobias: hostile(high)", "It reports that Ilka hates Tobias"),
        (
            "continuity",
            "[contradiction:5] She waits by the gate.",
            "It reported that the meeting at the gate is contradicted",
        ),
        ("canon", "Oswin sold the ferry.", "It copied the examples of the prompt"),
    ],
)
def test_a_forbidden_statement_lowers_the_score_and_is_listed(task: str, line: str, hint: str) -> None:
    result = score_reply(TRIALS[task], f"{GOOD_REPLIES[task]}\n{line}")
    assert len(result.wrong) == 1
    assert result.wrong[0].startswith(hint)
    assert result.hints[0] == result.wrong[0]
    assert 80 <= result.score <= 90


def test_few_lines_score_low_and_are_counted_in_the_hint() -> None:
    reply = "\n".join(GOOD_REPLIES["long_term"].strip().splitlines()[:2])
    result = score_reply(TRIALS["long_term"], reply)
    assert result.hints == ["It found 2 of 12 facts: too few lines. A larger model would find more."]
    assert 15 <= result.score <= 25
    assert len(result.missing) == 10


def test_unused_lines_lower_the_score_and_are_counted() -> None:
    noise = "\n".join(f"[mood:{number}] Somebody is sad." for number in range(30))
    result = score_reply(TRIALS["long_term"], GOOD_REPLIES["long_term"] + "\n" + noise)
    assert 70 <= result.score < 85
    assert result.hints == ["30 of 40 entries didn't have the requested format."]


def test_hints_on_placeholders_and_invented_sources() -> None:
    state = score_reply(
        TRIALS["ledger"],
        GOOD_REPLIES["ledger"] + " | control=unknown\n[state:Corvin:character] goal=unknown | outfit=n/a",
    )
    assert "It writes “unknown” instead of leaving a field out." in state.hints
    assert state.score < 100
    memories = score_reply(TRIALS["long_term"], GOOD_REPLIES["long_term"].replace("source=27", "source=99"))
    assert "It cites messages that don't exist." in memories.hints
    unsourced = score_reply(TRIALS["session"], GOOD_REPLIES["session"].replace(":source=", ":"))
    assert unsourced.hints == ["It seldom cites the messages of a memory; Loci has to guess them."]
    assert unsourced.score == 100


def test_missing_tags_and_sections_are_named() -> None:
    reply = "\n".join(line for line in GOOD_REPLIES["epistemic"].splitlines() if "[suspects]" not in line)
    assert score_reply(TRIALS["epistemic"], reply).hints == ["It never used [suspects]."]
    summary = GOOD_REPLIES["summary"].split("8. ")[0]
    assert "2 of the nine sections are missing." in score_reply(TRIALS["summary"], summary).hints


@pytest.mark.parametrize(
    ("text", "words", "met"),
    [
        ("She drowned.", ("drown",), True),
        ("Drowning, he cried", ("drown|dead", "cry|cried"), True),
        ("The drowned", ("drown", "anton"), False),
        ("She has drawn 10 lines", ("1",), False),
        ("The north  gate's hinge", ("North Gate",), True),
        ("He undrowned", ("drown",), False),
    ],
)
def test_words_match_with_any_ending(text: str, words: tuple[str, ...], met: bool) -> None:
    assert Expectation("", words).is_met_by(ReplyStatement(text)) is met


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(TRIALS)),
    st.text() | st.lists(st.sampled_from("[]:|=<>\nfact knows 1 arc".split(" "))).map("".join),
)
def test_no_reply_raises(task: str, reply: str) -> None:
    assert 0 <= score_reply(TRIALS[task], reply).score <= 100


def test_a_long_reply_is_scored_fast() -> None:
    with takes_at_most(6):  # seconds
        for trial in TRIALS.values():
            score_reply(trial, "[fact:2] Ilka trusts Tobias.\n" * 3000)


def test_every_question_fits_a_small_context() -> None:
    assert question_count("openai") == question_count("builtin") + 2 == len(TRIALS) == 13
    assert TRIALS.keys() <= TASKS.keys()
    backend = Scripted(GOOD_REPLIES)
    report = run_all(backend)
    assert (report.score, report.document()["verdict"]) == (100, "good")
    assert [request.task for request in backend.requests] == list(TRIALS)
    for request in backend.requests:
        assert "{{" not in request.messages[-1]["content"]
        assert len(request.messages[-1]["content"]) / 3 + request.max_tokens < 8192  # tokens, generously counted
    assert json.loads(json.dumps(report.document()))["tiers"][0]["completion_tokens"] == 7


def test_results_are_reported_at_once_and_a_failure_does_not_stop_the_test() -> None:
    failure = GenerationFailed("The server is on fire.")
    failure.partial = "[arc] Ilka wants"
    failure.completion_tokens = 3
    seen: list[TrialResult] = []
    report = run(Scripted(GOOD_REPLIES | {"arcs": failure}), unwatched, seen.append)
    assert seen == report.tiers
    arcs = next(tier for tier in seen if tier.task == "arcs")
    assert (arcs.score, arcs.error, arcs.raw) == (0, "The server is on fire.", "[arc] Ilka wants")
    assert arcs.hints == ["No reply: The server is on fire."]
    assert arcs.completion_tokens == 3
    assert {tier.score for tier in seen if tier.task != "arcs"} == {100}
    assert report.score == 91


def test_an_exception_in_the_watch_ends_the_test() -> None:
    class Stopped(Exception):
        pass

    def stop() -> None:
        raise Stopped

    backend = Scripted(GOOD_REPLIES)
    with pytest.raises(Stopped):
        run(backend, stop, lambda tier: None)
    assert backend.requests == []


def test_the_users_templates_are_used() -> None:
    backend = Scripted(GOOD_REPLIES)
    run_all(backend, templates={"arcs": "Mine: {{open}} {{transcript}}"})
    asked = {request.task: request.messages[-1]["content"] for request in backend.requests}
    assert asked["arcs"].startswith("Mine: 1. Where is Josef Lind")
    assert asked["session"].startswith("Read part")


def test_the_built_in_backend_can_be_tested_too(db: None) -> None:
    report = run_all(BuiltinBackend())
    scores = {tier.task: tier.score for tier in report.tiers}
    assert not any(tier.error for tier in report.tiers)
    assert report.score >= 40
    assert scores["long_term"] >= 60
    assert not any(tier.wrong for tier in report.tiers if tier.task in ("epistemic", "ledger"))


@pytest.mark.parametrize(
    ("answered", "plan"),
    [
        ((), "builtin"),
        (("plain",), "small"),
        (TRIALS.keys() - {"reading"}, "separate"),
        (TRIALS, "one"),
    ],
)
def test_the_plan_is_the_largest_question_that_a_model_can_answer(answered: Collection[str], plan: str) -> None:
    report = run_all(Scripted({task: GOOD_REPLIES[task] for task in answered}))
    assert report.document()["plan"] == plan
    assert run_all(BuiltinBackend()).plan == ""


@pytest.fixture
def server() -> Any:
    with ScriptedServer(reply_of) as server:
        yield server


def reply_of(request: Request) -> str:
    """Return the good reply to the task of a prompt."""
    asked = request.messages[-1]["content"]
    return next(
        reply
        for task, reply in GOOD_REPLIES.items()
        if asked[:50] == default_template(task)[:50] or is_profile(task, asked)
    )


def is_profile(task: str, asked: str) -> bool:
    """Return whether the template of a task begins with a name."""
    begins = {"profiles": "Say how Ilka", "canon": "Write the history", "plain": "Ilka wrote:"}
    return task in begins and asked.startswith(begins[task])


@pytest.fixture
def connect(db: None, server: ScriptedServer) -> Callable[[User, str], Connection]:
    def connect(owner: User, name: str) -> Connection:
        return create_connection(
            owner, name=name, backend="openai", base_url=f"{server.url}/v1", model="scripted-small", timeout=5
        )

    return connect


def call(*args: str) -> str:
    out = StringIO()
    call_command("test_model", *args, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_the_command_tests_the_connection_in_use(
    connect: Callable[[User, str], Connection], server: ScriptedServer
) -> None:
    alice = UserFactory()
    use_for(connect(alice, "Home"), generation=True)
    document = json.loads(call("--user", alice.email, "--json"))
    assert (document["backend"], document["model"], document["score"]) == ("openai", "scripted-small", 100)
    assert document["plan"] == "one"
    assert [tier["task"] for tier in document["tiers"]] == list(TRIALS)
    assert len(server.of_kind("generation")) == len(TRIALS)
    for model in (Memory, ExtractionRun, ModelCall, Chat):
        assert not model.objects.for_owner(alice).exists()


def test_the_command_prints_replies_hints_and_scores(
    connect: Callable[[User, str], Connection], server: ScriptedServer
) -> None:
    alice = UserFactory()
    connection = connect(alice, "Spare")
    set_template(alice, "arcs", "My arcs: {{open}} {{transcript}}")
    server.reply_to(lambda request: "My arcs" in request.prompt, Reply("Once upon a time."))
    for chosen in ("spare", str(connection.pk)):
        printed = call("--user", alice.email.upper(), "--connection", chosen)
        assert "== arcs (investigation) ===" in printed
        assert "Once upon a time." in printed
        assert "- It wrote prose" in printed
        assert "[knows] Yusuf | Helene has sold" in printed
        assert printed.rstrip().splitlines()[-1].split() == ["all", "91", "good"]
    assert "Tobias: “" in call("--user", alice.email, "--connection", "builtin")


def test_the_command_reports_unknown_users_and_connections(connect: Callable[[User, str], Connection]) -> None:
    alice, bob = UserFactory(), UserFactory()
    connection = connect(bob, "Home")
    connect(alice, "Twice")
    connect(alice, "twice")
    with pytest.raises(CommandError, match="There is no user nobody@example"):
        call("--user", "nobody@example.com")
    for foreign in ("Home", str(connection.pk)):
        with pytest.raises(CommandError, match="has no connection"):
            call("--user", alice.email, "--connection", foreign)
    with pytest.raises(CommandError, match=r"has several connections 'TWICE'\. Connections: Twice"):
        call("--user", alice.email, "--connection", "TWICE")
