"""The order of vector clocks."""

from hypothesis import given
from hypothesis import strategies as st

from apps.instances.vector_clock import Order, compare, errors_of, merge

clocks = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 3))
OPPOSITE = {Order.EQUAL: Order.EQUAL, Order.BEFORE: Order.AFTER, Order.AFTER: Order.BEFORE}


def test_the_four_orders() -> None:
    assert compare({"a": 1}, {"a": 1}) == Order.EQUAL
    assert compare({"a": 1}, {"a": 1, "b": 1}) == Order.BEFORE
    assert compare({"a": 2}, {"a": 1}) == Order.AFTER
    assert compare({"a": 2}, {"a": 1, "b": 1}) == Order.CONCURRENT


@given(clocks, clocks)
def test_a_comparison_the_other_way_round_is_the_opposite(one: dict[str, int], other: dict[str, int]) -> None:
    order = compare(one, other)
    assert compare(other, one) == OPPOSITE.get(order, order)


@given(clocks, clocks, clocks)
def test_a_merge_has_seen_both_and_depends_on_no_order(
    one: dict[str, int], other: dict[str, int], third: dict[str, int]
) -> None:
    merged = merge(one, other)
    assert {compare(merged, one), compare(merged, other)} <= {Order.EQUAL, Order.AFTER}
    assert merged == merge(other, one)
    assert merge(merged, third) == merge(one, merge(other, third))
    assert merge(merged, one) == merged


def test_errors_of_the_form() -> None:
    assert list(errors_of({"a": 1, "b": 2**53 - 1})) == []
    for value in (None, [], "a", {"a": 0}, {"a": -1}, {"a": 2**53}, {"a": True}, {"a": 1.0}, {"a": "1"}):
        assert len(list(errors_of(value))) == 1
    assert list(errors_of({str(number): 1 for number in range(257)})) == ["It names more than 256 instances."]
