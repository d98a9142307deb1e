"""Token budgets: shares of a total, tuning, contexts, and the counter of a model."""

from hypothesis import given
from hypothesis import strategies as st

from apps.llm.tokens import count_tokens, token_counter
from apps.prompts.filling.budgets import SHARES, divided, tuned, within_context
from apps.prompts.slots.definitions import ALL_SLOTS, SLOTS, UNIFIED_ORDER

DEFAULTS = {slot.name: slot.budget for slot in SLOTS}
budgets = st.fixed_dictionaries(dict.fromkeys(DEFAULTS, st.integers(0, 3000)))


def test_simple_mode_divides_the_total_by_the_shares_of_the_reference():
    """The shares of Smart Memory 1.7.9, which sum to 1.03, so that its budgets exceeded the total."""
    assert sum(divided(3750).values()) <= 3750
    assert divided(1030) == {name: round(1000 * share) for name, share in SHARES.items()}
    assert set(divided(0).values()) == {0}


def test_tuning_adds_15_percent_and_rounds_half_up_to_50():
    """The auto-tune of Smart Memory 1.7.9: at least the default, slots without a demand and the summary as before."""
    demands = {"long_term": 500, "session": 1000, "scenes": 10, "short_term": 9000, "arcs": 0}
    after = tuned(DEFAULTS, DEFAULTS, demands, None)
    assert (after["long_term"], after["session"], after["scenes"]) == (600, 1150, 300)
    assert (after["short_term"], after["arcs"]) == (2000, 700)
    assert tuned(DEFAULTS, DEFAULTS, {"long_term": 1500}, None)["long_term"] == 1750  # 1725 is half of a step


def test_the_slots_stand_and_are_budgeted_as_in_the_reference():
    """The table of slots of Smart Memory 1.7.9 (those of a unified block and of a repair besides)."""
    placed = {slot.name: (slot.position, slot.depth, slot.budget, slot.role) for slot in ALL_SLOTS}
    table = {
        "short_term": ("in_prompt", 0, 2000),
        "canon": ("in_prompt", 0, 800),
        "profiles": ("in_prompt", 1, 400),
        "long_term": ("in_prompt", 2, 500),
        "scenes": ("in_chat", 6, 300),
        "relationships": ("in_chat", 5, 250),
        "session": ("in_chat", 3, 400),
        "arcs": ("in_chat", 2, 700),
        "epistemic": ("in_chat", 1, 200),
        "state_ledger": ("in_chat", 1, 200),
    }
    assert {name: placed[name][:3] for name in table} == table
    assert sum(placed[name][2] for name in SHARES) == 3750
    assert {name: placed[name][:2] for name in ("triggered", "repair", "unified")} == {
        "triggered": ("in_chat", 4),
        "repair": ("in_chat", 0),
        "unified": ("in_prompt", 0),
    }
    assert len(placed) == 13
    assert {role for *_, role in placed.values()} == {"system"}
    order = "canon profiles long_term short_term scenes session arcs"
    assert " ".join(slot.name for slot in UNIFIED_ORDER) == order


@given(budgets, budgets, st.integers(0, 20_000))
def test_tuning_never_exceeds_the_total(given_budgets, demands, total):
    after = tuned(given_budgets, DEFAULTS, demands, total)
    assert after.keys() == given_budgets.keys()
    assert sum(value for name, value in after.items() if name in SHARES) <= total


@given(budgets, budgets, st.integers(1, 20_000))
def test_all_slots_take_at_most_half_of_the_context(given_budgets, demands, context_tokens):
    after = within_context(given_budgets, demands, context_tokens)
    assert sum(min(value, demands[name]) for name, value in after.items()) <= context_tokens / 2
    assert all(0 <= after[name] <= value for name, value in given_budgets.items())


def test_an_unneeded_budget_takes_no_room_from_others():
    demands = dict.fromkeys(DEFAULTS, 0) | {"long_term": 500}
    assert within_context(DEFAULTS, demands, 1000)["long_term"] == 500


def test_the_counter_is_that_of_the_model_with_a_margin_where_it_is_not_known():
    text = "Under the blue stone lies 漢字 a silver key. " * 20
    assert token_counter("")(text) == token_counter("openai/gpt-4o-mini")(text) == count_tokens(text)
    assert token_counter("gpt-4-turbo")(text) == count_tokens(text, "cl100k_base") != count_tokens(text)
    assert token_counter("qwen2.5:7b")(text) >= 1.15 * count_tokens(text)
    assert token_counter("qwen2.5:7b")("") == 0
