"""Sentences that open a thread, and what would be its outcome."""

import pytest

from apps.builtin.story.threads import parse_thread


@pytest.mark.parametrize(
    ("sentence", "verb"),
    [
        ("I swear to find my brother.", "find"),
        ("She vowed that she would burn the mill.", "burn"),
        ("We must reach the harbour by dawn.", "reach"),
        ("He has to repay the smith.", "repay"),
        ("I will hunt the wolf.", "hunt"),
        ("Who killed the miller?", "killed"),
        ("Nobody knows where the chest lies.", "where"),
        ("My sister is missing.", "missing"),
        ("Tom owes me two horses.", "owes"),
        ("She plans to rebuild the burnt copper mill.", "rebuild"),
        ("They are looking for the old bridge.", "looking for"),
    ],
)
def test_a_sentence_opens_a_thread(sentence: str, verb: str) -> None:
    thread = parse_thread(sentence)
    assert thread is not None
    assert thread.verb == verb


@pytest.mark.parametrize("sentence", ["The harbour is grey.", "She must do something.", "He said hello to the smith."])
def test_no_thread_is_opened_by_a_description_or_without_a_noun(sentence: str) -> None:
    assert parse_thread(sentence) is None
