"""Test ``manage.py evaluate`` with the formats locomo and stores: parsing, measures, and a run that stores nothing."""

import io
import json
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common.scoping import system_scope
from apps.evaluation import own_database
from apps.evaluation.datasets import UnusableDataset, read_locomo, read_stores
from apps.evaluation.metrics import mean, measure, ndcg_at, recall_at, reciprocal_rank
from apps.evaluation.registry import EVALUATIONS
from apps.evaluation.report import report_document
from apps.evaluation.runs import METHODS, QueryResult
from apps.memories.models import Passage
from config.broker import Channel
from tests import postgres

LOCOMO = [
    {
        "sample_id": "two-friends",
        "conversation": {
            "speaker_a": "Ines",
            "speaker_b": "Paul",
            "session_1_date_time": "2:30 pm on 4 March, 2024",
            "session_1": [
                {"speaker": "Ines", "dia_id": "D1:1", "text": "I adopted a parrot called Kiwi last week!"},
                {"speaker": "Paul", "dia_id": "D1:2", "text": "Lovely, Ines! Look.", "blip_caption": "a red canoe"},
            ],
            "session_10": [{"speaker": "Paul", "dia_id": "D10:1", "text": "I finally sold the lighthouse."}],
            "session_2": [{"speaker": "Ines", "dia_id": "D2:1", "text": "My knee surgery went well."}],
        },
        "qa": [
            {"question": "Which bird does Ines have?", "evidence": ["D1:1"], "category": 4, "answer": "a parrot"},
            {"question": "What happened to both?", "evidence": ["D2:01; D10:1"], "category": 1},
            {"question": "What was never said?", "evidence": ["D1:1"], "category": 5},
            {"question": "Nothing to find?", "evidence": [], "category": 3},
            {"question": "Somewhere else?", "evidence": ["D7:7"], "category": 3},
        ],
    }
]
STORES = {
    "stores": [
        {
            "id": "assistant",
            "docs": [
                {"id": "a", "speaker": "user", "is_user": True, "text": "I am allergic to walnuts.",
                 "at": "2023/05/20 (Sat) 02:21", "session": "s1"},
                {"id": 2, "text": "Noted, no walnuts then.", "at": 1684549260},
            ],
            "queries": [{"q": "What am I allergic to?", "gold": ["a", "missing"], "category": "single"}],
        },
        {"docs": [{"id": "x", "text": "The bell rang twice."}], "queries": [{"q": "How often?", "gold": "x"}]},
    ]
}  # fmt: skip


def write(tmp_path: Any, data: Any) -> str:
    file = tmp_path / "data.json"
    file.write_text(json.dumps(data))
    return str(file)


def evaluated(file: str, *options: str) -> str:
    out = io.StringIO()
    call_command("evaluate", file, *options, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_a_locomo_file_is_read() -> None:
    (store,) = read_locomo(LOCOMO)
    assert [document.id for document in store.documents] == ["D1:1", "D1:2", "D2:1", "D10:1"]
    assert [document.is_user for document in store.documents] == [True, False, True, False]
    assert store.documents[1].text == "Lovely, Ines! Look. [a red canoe]"
    assert store.documents[0].at.isoformat() == "2024-03-04T14:30:00+00:00"
    assert store.documents[2].at is None
    assert [(query.category, query.gold) for query in store.queries] == [("4", {"D1:1"}), ("1", {"D2:1", "D10:1"})]
    assert read_locomo(LOCOMO[0]) == [store]


def test_stores_without_optional_fields_are_read() -> None:
    first, second = read_stores(STORES)
    assert first.documents[0].at == first.documents[1].at.replace(second=0)
    assert [document.session for document in first.documents] == ["s1", None]
    assert [document.id for document in first.documents] == ["a", "2"]
    assert first.queries[0].gold == {"a"}
    assert (second.id, second.documents[0].speaker, second.queries[0].category) == ("1", "", "")


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ([], "'stores'|not an object"),
        ({}, "the file: 'stores' is missing"),
        ({"stores": []}, "no store"),
        ({"stores": [{}]}, r"stores\[0\]: 'docs' is missing"),
        ({"stores": [{"docs": [{"id": "a"}]}]}, r"stores\[0\].docs\[0\]: 'text' is missing"),
        ({"stores": [{"docs": [3]}]}, r"docs\[0\] is not an object"),
        ({"stores": [{"docs": [{"id": 1, "text": ""}] * 2, "queries": []}]}, "same id"),
        ({"stores": [{"docs": [], "queries": [{"q": 1, "gold": []}]}]}, r"queries\[0\]: 'q' has the wrong type"),
    ],
)
def test_errors_in_stores_name_the_place(data: Any, complaint: str) -> None:
    with pytest.raises(UnusableDataset, match=complaint):
        read_stores(data)


@pytest.mark.parametrize("data", [[], {}, [3], [{"conversation": []}], [{"conversation": {"session_1": [{}]}}]])
def test_unusable_locomo_data_is_refused(data: Any) -> None:
    with pytest.raises(UnusableDataset):
        read_locomo(data)


def test_measures_of_a_known_ranking() -> None:
    ranking = ["x", "a", "y", "b"]
    assert recall_at(2, ranking, {"a", "b", "c"}) == pytest.approx(1 / 3)
    assert reciprocal_rank(ranking, {"a", "b"}) == 0.5
    assert ndcg_at(10, ranking, {"a", "b"}) == pytest.approx((0.63093 + 0.43068) / 1.63093, abs=1e-4)
    assert mean([{"mrr": 1.0}, {"mrr": 0.0}]) == {"mrr": 0.5}
    assert mean([]) == {}


@given(st.permutations(range(12)), st.sets(st.integers(0, 15), min_size=1))
def test_measures_stay_within_bounds(ranking: list[int], gold: set[int]) -> None:
    measures = measure([str(item) for item in ranking], {str(item) for item in gold})
    assert all(0 <= value <= 1 for value in measures.values())
    assert measures["recall@5"] <= measures["recall@10"] <= measures["recall@20"]


@given(st.sets(st.integers(0, 30), min_size=1))
def test_the_best_ranking_scores_one(gold: set[int]) -> None:
    best = [*sorted(map(str, gold)), "other"]
    assert ndcg_at(10, best, set(best[:-1])) == pytest.approx(1)
    assert reciprocal_rank(best, set(best[:-1])) == 1


class Onlooker(io.StringIO):
    """Standard error of a run. At each line of its progress, it looks what is locked in the database in use."""

    def __init__(self) -> None:
        super().__init__()
        given = connection.get_connection_params()
        names = ("dbname", "user", "password", "host", "port")
        self.parameters = {name: given[name] for name in names if name in given}
        self.locked: list[int] = []

    def write(self, text: str) -> int:
        held = """SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND locktype = 'relation'
            AND backend_type = 'client backend'"""
        with psycopg.connect(**self.parameters) as other:
            self.locked.append(other.execute(held).fetchone()[0])  # type: ignore[index]
        return super().write(text)


@pytest.fixture
def no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail the test if a task is sent: where nothing has been migrated, there are no queues."""
    monkeypatch.setattr(Channel, "_put", lambda *message, **options: pytest.fail("A task was sent."))


@pytest.fixture
def migrated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy the tables of an evaluation, whose migrations take most of its time."""

    def migrate(*names: str, **options: Any) -> None:
        name = connection.settings_dict["NAME"]
        connection.close()
        postgres.recreate_from_template(name)

    monkeypatch.setattr(own_database, "call_command", migrate)


def test_a_run_measures_every_method_and_touches_nothing_that_is_in_use(
    transactional_db: None, migrated_at_once: None, no_queue: None, tmp_path: Any
) -> None:
    out, onlooker = io.StringIO(), Onlooker()
    file = write(tmp_path, LOCOMO)
    call_command("evaluate", file, "--format=locomo", "--json", stdout=out, stderr=onlooker)
    results = json.loads(out.getvalue())
    assert set(results["methods"]) == {"default", "dense", "ts_rank", "bm25", "seed"}
    for measures in results["methods"].values():
        assert set(measures) == {"recall@5", "recall@10", "recall@20", "ndcg@10", "mrr"}
    assert results["methods"]["default"]["recall@5"] == 1
    assert results["queries"] == 2
    assert set(onlooker.locked) == {0}
    with system_scope():
        assert not User.objects.exists()
        assert not Chat.objects.exists()
        assert not Passage.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_database WHERE datname LIKE '%\\_evaluation'")
        assert cursor.fetchone() == (0,)


@pytest.mark.explore
def test_a_run_migrates_its_own_database(transactional_db: None, no_queue: None, tmp_path: Any) -> None:
    assert evaluated(write(tmp_path, STORES), "--format=stores")


def test_of_two_runs_at_once_one_is_refused(transactional_db: None, tmp_path: Any) -> None:
    parameters = Onlooker().parameters
    own = f"{parameters['dbname']}_evaluation"
    with psycopg.connect(**parameters, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {own}")
        try:
            with (
                psycopg.connect(**parameters | {"dbname": own}),
                pytest.raises(CommandError, match="being accessed by other users"),
            ):
                evaluated(write(tmp_path, STORES), "--format=stores")
        finally:
            server.execute(f"DROP DATABASE {own}")


def test_the_table_is_aligned() -> None:
    measures = {"recall@5": 1.0, "recall@10": 1.0, "recall@20": 1.0, "ndcg@10": 0.5, "mrr": 0.25}
    half = measures | {"mrr": 0.75}
    found = [
        QueryResult("a", method, "1", "question", language, each)
        for method in METHODS
        for language, each in (("german", measures), ("han", half))
    ]
    lines = EVALUATIONS["stores"].table(report_document(found)).splitlines()
    assert lines[0].split() == ["recall@5", "recall@10", "recall@20", "ndcg@10", "mrr"]
    assert len({len(line.rstrip()) for line in lines[:6]}) == 1
    assert lines[1].split()[-2:] == ["0.500", "±0.490"]
    assert [line.split()[0] for line in lines[6:9]] == ["question", "german", "han"]
    assert lines[6].split()[1] == "(2)"
    assert [line.split()[-1] for line in lines[6:9]] == ["±0.490", "±0.000", "±0.000"]
    assert lines[-1].startswith("2 queries")


@pytest.mark.parametrize(("content", "complaint"), [("{", "not JSON"), ("[" * 200_000, "not JSON"), ("[]", "no conv")])
def test_errors_of_a_bad_file_name_the_reason(tmp_path: Any, content: str, complaint: str) -> None:
    file = tmp_path / "bad.json"
    file.write_text(content)
    with pytest.raises(CommandError, match=complaint):
        evaluated(str(file), "--format=locomo")


def test_a_missing_file_and_one_without_answers_are_refused(tmp_path: Any) -> None:
    nothing = {"stores": [{"docs": [{"id": 1, "text": "x"}], "queries": [{"q": "y", "gold": ["2"]}]}]}
    with pytest.raises(CommandError, match="no query has an answer"):
        evaluated(write(tmp_path, nothing), "--format=stores")
    with pytest.raises(CommandError, match="No such file"):
        evaluated(str(tmp_path / "absent.json"), "--format=stores")
