"""Test that rendered text stays within the budget for any items."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from apps.llm.tokens import count_tokens
from apps.prompts.filling.fill import fit
from apps.prompts.slots.blocks import render_block
from apps.prompts.slots.definitions import LONG_TERM


def render(entries):
    return render_block(LONG_TERM, entries, {})


@dataclass(frozen=True)
class Line:
    written: str
    priority: float = 0.0


def fitted(lines, budget):
    return fit(lines, budget, render, count_tokens)


lines = st.builds(Line, st.text(max_size=120), st.floats(0, 2))


@given(st.lists(lines, max_size=12), st.integers(0, 120))
def test_the_budget_is_never_exceeded_and_the_counts_are_right(candidates, budget):
    result = fitted(candidates, budget)
    assert result.tokens == count_tokens(result.text) <= budget
    assert result.text == render([candidate.written for candidate in result.kept])
    assert result.full_tokens == count_tokens(render([c.written for c in candidates]))
    assert result.trimmed == len(candidates) - len(result.kept)


@given(st.lists(lines, max_size=12), st.integers(0, 120))
def test_items_left_out_do_not_fit_with_those_of_higher_priority(candidates, budget):
    result = fitted(candidates, budget)
    left_out = [candidate for candidate in candidates if candidate not in result.kept]
    for candidate in left_out:
        better = [kept for kept in result.kept if kept.priority >= candidate.priority]
        text = [one.written for one in candidates if one in better or one is candidate]
        assert count_tokens(render(text)) > budget


@given(st.lists(lines, max_size=12), st.integers(0, 120))
def test_the_order_is_kept_and_the_result_is_deterministic(candidates, budget):
    result = fitted(candidates, budget)
    positions = [next(i for i, c in enumerate(candidates) if c is kept) for kept in result.kept]
    assert positions == sorted(positions)
    assert fitted(candidates, budget) == result


def test_a_short_item_of_low_priority_may_use_the_room_of_a_long_one():
    long = Line("word " * 40, 0.5)
    best, small = Line("Mira lives in Lyon.", 0.9), Line("She is a smith.", 0.1)
    result = fitted([long, best, small], 25)
    assert result.kept == [best, small]


def test_a_single_item_above_the_budget_is_left_out():
    result = fitted([Line("word " * 200, 1.0)], 50)
    assert (result.text, result.tokens, result.trimmed) == ("", 0, 1)
    assert result.full_tokens > 50


def test_no_items_cost_nothing():
    assert fitted([], 500).text == ""
