"""Test the picture of a recall's graph."""

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.graph.building import GraphEntity, graph_of
from apps.graph.layout import MAX_NODES, WIDTH, picture_of

NAMES = [GraphEntity(str(number), "person", f"Name {number}" * (1 + number % 3)) for number in range(80)]


@given(st.dictionaries(st.text(max_size=4), st.lists(st.sampled_from(NAMES), max_size=8), max_size=40))
def test_every_entity_is_drawn_inside_of_the_picture_up_to_a_limit(entities):
    graph = graph_of(entities)
    picture = picture_of(graph)
    assert len(picture.nodes) == min(len(graph["nodes"]), MAX_NODES)
    assert len(picture.nodes) + picture.missing == len(graph["nodes"])
    assert all(0 < n.x < WIDTH and n.y > 0 and n.label_y < picture.height for n in picture.nodes)
    assert picture == picture_of(graph)


@given(st.lists(st.lists(st.sampled_from(NAMES), max_size=6), max_size=30))
def test_no_label_covers_another(memories):
    picture = picture_of(graph_of({str(number): names for number, names in enumerate(memories)}))
    shown = [node for node in picture.nodes if node.labelled]
    assert bool(shown) == bool(picture.nodes)
    for a, b in combinations(shown, 2):
        apart = abs(a.x - b.x) >= 3 * (len(a.short_label) + len(b.short_label))
        assert apart or abs(a.label_y - b.label_y) >= 12


def test_entities_of_sixty_memories_stand_apart():
    picture = picture_of(graph_of({str(number): NAMES[number : number + 3] for number in range(58)}))
    distances = [(a.x - b.x) ** 2 + (a.y - b.y) ** 2 for a, b in combinations(picture.nodes, 2)]
    assert len(picture.nodes) == 60
    assert len(picture.edges) > 100
    assert min(distances) > 9


@pytest.mark.parametrize("seed", range(5))
def test_sixty_entities_of_one_crowd_can_be_told_apart(seed):
    pick = random.Random(seed)
    memories = {str(number): pick.sample(NAMES[:60], 2) for number in range(120)}
    picture = picture_of(graph_of(memories))
    for a, b in combinations(picture.nodes, 2):
        assert (a.x - b.x) ** 2 + (a.y - b.y) ** 2 > (a.radius + b.radius) ** 2
    assert sum(node.labelled for node in picture.nodes) >= 10


def test_nothing_and_one_entity_have_a_picture():
    assert picture_of(graph_of({})).nodes == []
    (node,) = picture_of(graph_of({"m": NAMES[:1]})).nodes
    assert node.labelled
