"""What workers stored in English is shown in the language of the reader."""

import ast
import copy
import json
import pickle
import re
from collections.abc import Iterator

import pytest
from django.db import connection
from django.template import engines
from django.utils import translation

from apps.chats.models import ImportJob
from apps.common.jobs import Job
from apps.common.problems import Problem
from apps.common.stored_texts import (
    StoredText,
    from_json,
    gettext_stored,
    joined_texts,
    msgid_of,
    ngettext_stored,
    to_json,
)
from apps.llm.failures import http_failure
from config.env import ROOT
from tests.factories import UserFactory
from tests.moderation.conftest import signed_in

STOPPED = "Its worker stopped %(times)s times at the same step."
SAYS = "The page could not run the model. It says: %(error)s"
DAMAGED = "The archive is damaged."


def failed_job(error: str) -> ImportJob:
    return ImportJob.objects.create(
        owner=UserFactory(), filename="a.jsonl", state=Job.State.FAILED, error=error, finished_at="2026-01-01T00:00Z"
    )


def loaded(job: ImportJob, language: str) -> ImportJob:
    with translation.override(language):
        return ImportJob.objects.for_owner(job.owner_id).get(pk=job.pk)


def column(job: ImportJob) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT error FROM chats_importjob WHERE id = %s", [job.pk])
        return str(cursor.fetchone()[0])


TEXTS = {
    "without values": (
        lambda: gettext_stored("The model said nothing."),
        "The model said nothing.",
        "Das Modell hat nichts gesagt.",
        "模型什么也没说。",
    ),
    "a number": (
        lambda: gettext_stored(STOPPED, times=3),
        "Its worker stopped 3 times at the same step.",
        "Der Prozess ist 3 Mal am selben Schritt stehen geblieben.",
        "其工作进程在同一步骤停止了 3 次。",
    ),
    "one": (
        lambda: ngettext_stored("%(count)s memory", "%(count)s memories", 1),
        "1 memory",
        "1 Erinnerung",
        "1 条记忆",
    ),
    "several": (
        lambda: ngettext_stored("%(count)s memory", "%(count)s memories", 2),
        "2 memories",
        "2 Erinnerungen",
        "2 条记忆",
    ),
    "a text in a text": (
        lambda: gettext_stored(
            "%(reason)s The rest of the file was left out.", reason=gettext_stored("The file ends too early.")
        ),
        "The file ends too early. The rest of the file was left out.",
        "Die Datei endet zu früh. Der Rest der Datei wurde ausgelassen.",
        "文件提前结束。文件的其余部分已略去。",
    ),
    "joined": (
        lambda: joined_texts("a.json:", gettext_stored("Not a JSON object.")),
        "a.json: Not a JSON object.",
        "a.json: Kein JSON-Objekt.",
        "a.json: 不是 JSON 对象。",
    ),
    "a value that is a text of ours elsewhere": (
        lambda: gettext_stored(SAYS, error="Not a JSON object."),
        "The page could not run the model. It says: Not a JSON object.",
        "Die Seite konnte das Modell nicht ausführen. Sie meldet: Not a JSON object.",
        None,
    ),
    "a value with percent signs and placeholders": (
        lambda: gettext_stored(SAYS, error="100 % (%(error)s %s %%) <b>{x}</b>"),
        "The page could not run the model. It says: 100 % (%(error)s %s %%) <b>{x}</b>",
        "Die Seite konnte das Modell nicht ausführen. Sie meldet: 100 % (%(error)s %s %%) <b>{x}</b>",
        None,
    ),
    "an entry that no catalogue has": (
        lambda: gettext_stored("A sentence of %(year)s.", year=1999),
        "A sentence of 1999.",
        "A sentence of 1999.",
        "A sentence of 1999.",
    ),
}


@pytest.mark.django_db
@pytest.mark.parametrize(("text", "english", "german", "chinese"), TEXTS.values(), ids=TEXTS)
def test_a_text_is_loaded_in_the_language_of_the_reader(
    text: object, english: str, german: str, chinese: str | None
) -> None:
    made = text()  # type: ignore[operator]
    assert made == english
    job = failed_job(made)
    assert loaded(job, "en").error == english
    assert loaded(job, "de").error == german
    assert chinese is None or loaded(job, "zh-hans").error == chinese


@pytest.mark.django_db
@pytest.mark.parametrize(("text", "english", "german", "chinese"), TEXTS.values(), ids=TEXTS)
def test_it_is_stored_the_same_in_any_language(text: object, english: str, german: str, chinese: str | None) -> None:
    with translation.override("de"):
        made = text()  # type: ignore[operator]
        assert made == german
        job = failed_job(made)
    stored = column(job)
    assert loaded(job, "en").error == english
    again = loaded(job, "de")
    again.save()
    assert column(again) == stored


OTHERS = [
    "",
    "CUDA error 7",
    "Mira said nothing. She left.",
    "100 % (of it)s",
    "Its worker stopped 3 times at the same step.",  # as it was stored before there were values
    '{"error": "overloaded"}',
    '{"msgid": "The archive',
    '{"msgid": 7, "params": {}}',
    '{"msgid": "' + "[" * 100_000,
    '{"msgid":"%(a)s","params":{"a":"half a character: \\ud800"}}',
    '{"msgid":' + '{"msgid":' * 5000 + "7" + "}" * 5001,
]


@pytest.mark.django_db
@pytest.mark.parametrize("text", OTHERS, ids=range(len(OTHERS)))
def test_what_others_wrote_stays_as_it_is(text: str) -> None:
    assert loaded(failed_job(text), "de").error == text


@pytest.mark.django_db
def test_an_old_sentence_without_values_is_its_own_entry() -> None:
    job = failed_job(DAMAGED)
    assert column(job) == column(failed_job(gettext_stored(DAMAGED))) == DAMAGED
    assert loaded(job, "de").error == "Das Archiv ist beschädigt."


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"msgid": STOPPED, "params": {}}, STOPPED),
        ({"msgid": STOPPED, "params": {"other": 1}}, STOPPED),
        ({"msgid": "%(a)9999999s %(a)d %s %", "params": {"a": 1}}, "%(a)9999999s %(a)d %s %"),
        ({"msgid": "%(count)s", "plural": 7, "params": {"count": "x"}}, "x"),
        ({"msgid": "%(count)s", "plural": "s", "params": {"count": "x"}}, "x"),
        ({"msgid": "%(a)s %(a)s", "params": {"a": "x"}}, "x %(a)s"),
    ],
)
def test_a_stored_text_that_is_damaged_is_shown_as_far_as_it_goes(document: object, text: str) -> None:
    assert from_json(document) == text


def test_documents_keep_their_texts() -> None:
    report = {"lines": [{"line": 3, "reason": gettext_stored(SAYS, error="no")}], "format": "loci", "n": None}
    stored = json.loads(json.dumps(to_json(report)))
    assert stored["lines"][0]["reason"] == {"msgid": SAYS, "params": {"error": "no"}}
    with translation.override("de"):
        assert from_json(stored)["lines"][0]["reason"].startswith("Die Seite")
    assert from_json(stored) == report


def test_exceptions_copies_and_pickles_keep_a_text() -> None:
    problem = Problem(gettext_stored(STOPPED, times=2))
    for text in (str(problem), problem.detail, copy.deepcopy(problem.detail), pickle.loads(pickle.dumps(str(problem)))):
        assert isinstance(text, StoredText)
        assert (msgid_of(text), text.params, text) == (STOPPED, {"times": 2}, problem.detail)


def test_values_are_escaped_in_pages() -> None:
    template = engines["django"].from_string(
        "{{ error }}|{% blocktranslate with error=error %}{{ error }} Nothing was changed.{% endblocktranslate %}"
    )
    text = gettext_stored(SAYS, error="<b>&")
    page = template.render({"error": text})
    assert page.count("&lt;b&gt;&amp;") == 2
    assert "<b>" not in page


def test_a_key_is_masked_in_the_values() -> None:
    text = http_failure(401, "No key sk-1").detail
    assert isinstance(text, StoredText)
    masked = text.mapped(lambda value: value.mapped(str.lower) if isinstance(value, StoredText) else value.upper())
    assert masked.endswith("It says: no key sk-1")
    assert msgid_of(masked) == msgid_of(text)


@pytest.mark.django_db
def test_pages_say_what_a_worker_has_stored() -> None:
    lines = [{"line": 3, "reason": gettext_stored("It has no %(key)s.", key="<b>%s")}]
    report = {"format": "loci", "messages": 0, "warnings": [], "skipped_lines": lines}
    job = failed_job(gettext_stored(SAYS, error="<b>100 %"))
    reader = job.owner
    partial = ImportJob.objects.create(
        owner=reader, filename="b.jsonl", state=Job.State.SUCCEEDED, report=report, finished_at="2026-01-01T00:00Z"
    )
    for language, error, reason in (
        ("de", "Die Seite konnte das Modell nicht ausführen. Sie meldet: &lt;b&gt;100 %", "Es fehlt: &lt;b&gt;%s."),
        ("zh-hans", "页面无法运行模型。错误信息：&lt;b&gt;100 %", "它没有 &lt;b&gt;%s。"),
        ("en", "The page could not run the model. It says: &lt;b&gt;100 %", "It has no &lt;b&gt;%s."),
    ):
        reader.language = language
        reader.save()
        browser = signed_in(reader)
        assert error in browser.get(f"/imports/{job.pk}/").content.decode()
        assert reason in browser.get(f"/imports/{partial.pk}/").content.decode()
        told = browser.get(f"/api/v1/imports/{job.pk}/").json()["error"]
        assert told == "The page could not run the model. It says: <b>100 %"
        skipped = browser.get(f"/api/v1/imports/{partial.pk}/").json()["report"]["skipped_lines"]
        assert skipped == [{"line": 3, "reason": "It has no <b>%s."}]


def calls_of(*names: str) -> Iterator[tuple[str, ast.Call]]:
    for path in (ROOT / "apps").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def test_every_placeholder_has_its_value() -> None:
    wrong = []
    for place, call in calls_of("gettext_stored", "ngettext_stored"):
        values = {str(keyword.arg) for keyword in call.keywords} - {"count"}
        texts = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
        wrong += [place for text in texts if set(re.findall(r"%\((\w+)\)s", str(text))) - {"count"} != values]
    assert wrong == []
