"""What other memory systems export becomes memories, once, with a report of what was left out."""

import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.memories.models import Memory
from tests.contract.conftest import client_of
from tests.exchange.test_memory_files import post_file
from tests.factories import UserFactory, make_character

pytestmark = pytest.mark.django_db

MEM0 = {
    "count": 2,
    "results": [
        {"id": "m1", "memory": "Likes tea with milk", "categories": ["drinks"], "created_at": "2026-03-01T10:00:00Z"},
        {"id": "m2", "memory": "", "metadata": {}},
    ],
}
OPEN_WEBUI = [{"id": "1", "user_id": "u", "content": "Works as a nurse.", "updated_at": 1760000000}]
CLAUDE = [
    {
        "conversations_memory": "**Work**\n\nAda builds boats in Kiel.\n\n**Tastes**\n- plum cake\n",
        "project_memories": {"b1": "The book has twelve chapters."},
        "account_uuid": "a",
    }
]
LETTA = {
    "agents": [{"name": "sam", "block_ids": ["b0", "b1"]}],
    "blocks": [
        {"id": "b0", "label": "persona", "value": "I am Sam."},
        {"id": "b1", "label": "human", "value": "Her name is Chad.\n\nShe surfs."},
    ],
}
ZEP = {
    "nodes": [{"uuid": "n1", "name": "Ada", "summary": "A boat builder."}, {"uuid": "n2", "name": "Kiel"}],
    "edges": [
        {"uuid": "e1", "fact": "Ada lives in Kiel.", "source_node_uuid": "n1", "target_node_uuid": "n2"},
        {"uuid": "e2", "fact": "Ada lives in Bonn.", "invalid_at": "2025-01-01T00:00:00Z"},
    ],
}
MARKDOWN = b"""# About me

- [2026-02-01] - I'm allergic to peanuts.
* [x] I have two cats,
  Miso and Ume.
1. vegan

I moved to Kiel in May.
"""


@pytest.mark.parametrize(
    ("document", "program", "texts", "told"),
    [
        (MEM0, "mem0", ["Likes tea with milk"], "without a text"),
        (MEM0["results"][:1], "mem0", ["Likes tea with milk"], ""),
        (OPEN_WEBUI, "Open WebUI", ["Works as a nurse."], ""),
        ([{"content": "Plays chess."}], "memories", ["Plays chess."], ""),
        (
            CLAUDE,
            "Claude",
            ["Ada builds boats in Kiel.", "Tastes: plum cake", "The book has twelve chapters."],
            "",
        ),
        (LETTA, "Letta", ["Her name is Chad.", "She surfs."], "“persona”"),
        (ZEP, "Zep", ["Ada lives in Kiel.", "Ada lives in Bonn.", "Ada: A boat builder."], ""),
        (
            MARKDOWN,
            "text",
            [
                "I'm allergic to peanuts.",
                "I have two cats, Miso and Ume.",
                "About me: vegan",
                "I moved to Kiel in May.",
            ],
            "",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_export_is_read_and_what_is_left_out_told(document: Any, program: str, texts: list[str], told: str) -> None:
    api: APIClient = client_of(UserFactory())
    url = f"/api/v1/characters/{make_character(api.user, 'Mira').pk}/memories/import/"
    response = post_file(api, url, document)
    assert response.status_code == 201, response.data
    report = response.data["report"]
    assert (report["format"], report["written"]["memories"]) == (program, len(texts))
    assert told in json.dumps(report["warnings"], ensure_ascii=False)
    memories = Memory.objects.for_owner(api.user).order_by("pk")
    assert [memory.text for memory in memories] == texts
    assert [memory.text for memory in memories if memory.state == "retired"] == (
        ["Ada lives in Bonn."] if program == "Zep" else []
    )
    assert post_file(api, url, document).data["report"]["written"] == {"known": len(texts)}


@pytest.mark.parametrize("document", [b"{broken", b"\xff\xfe\x00", b"", [{"role": "user", "content": "Hi"}], {"a": 1}])
def test_what_is_no_export_of_memories_is_refused_with_a_reason(document: Any) -> None:
    api: APIClient = client_of(UserFactory())
    url = f"/api/v1/characters/{make_character(api.user, 'Mira').pk}/memories/import/"
    response = post_file(api, url, document)
    assert response.status_code == 400
    assert response.data["errors"][0]["pointer"] == "/file"
    assert not Memory.objects.for_owner(api.user).exists()
