"""Every call of mem0's clients, sync and async, against a host: run by a Python that has ``mem0ai``, not by Loci's."""

import asyncio
import json
import os
import sys
import time
from typing import Any

os.environ["MEM0_TELEMETRY"] = "False"

from mem0 import AsyncMemoryClient, MemoryClient  # type: ignore[import-not-found]
from mem0.exceptions import AuthenticationError, MemoryNotFoundError, ValidationError

HOST, KEY = sys.argv[1:3]
SAID = [
    {"role": "user", "content": "Hi, I'm Alex. I'm a vegetarian and I'm allergic to nuts."},
    {"role": "assistant", "content": "Hello Alex! I've noted that you are vegetarian and have a nut allergy."},
]


def main() -> None:
    client = MemoryClient(host=HOST, api_key=KEY)
    done = {"extracted": extract(client), "stored": store(client), "filters": filters(client)}
    done["history"] = change(client)
    entities(client)
    refusals(client)
    done["async"] = asyncio.run(concurrent())  # noqa: TID251 - a process of its own
    print(json.dumps(done))


def extract(client: Any) -> list[str]:
    added = client.add(SAID, user_id="alex", metadata={"food": "vegan"})
    event: dict[str, Any] = {}
    for _ in range(600):
        event = client.client.get(f"/v1/event/{added['event_id']}/").raise_for_status().json()
        if event["status"] not in ("PENDING", "RUNNING"):
            break
        time.sleep(0.2)
    assert event["status"] == "SUCCEEDED", event
    found = client.search("What can I cook for dinner tonight?", filters={"user_id": "alex"}, top_k=3)["results"]
    assert any("nuts" in one["memory"] for one in found), found
    assert all(one["metadata"] == {"food": "vegan"} for one in found), found
    return [one["memory"] for one in event["results"]]


def store(client: Any) -> int:
    for number in range(5):
        client.add(f"Trip {number} went to Rome.", user_id="sam", run_id="trips", infer=False, metadata={"n": number})
    client.add("The planner likes trains.", agent_id="planner", infer=False)
    page = client.get_all(filters={"user_id": "sam"}, page=1, page_size=2)
    assert (page["count"], len(page["results"])) == (5, 2), page
    memory = client.get(page["results"][0]["id"])
    assert memory["run_id"] == "trips", memory
    count: int = page["count"]
    return count


def filters(client: Any) -> list[int]:
    all_of_sam = {"user_id": "sam"}
    cases: list[tuple[dict[str, Any], int]] = [
        ({"AND": [all_of_sam, {"run_id": "*"}]}, 5),
        ({"AND": [all_of_sam, {"created_at": {"gte": "2024-01-01", "lte": "2024-12-31"}}]}, 0),
        ({"OR": [{"user_id": "sam"}, {"agent_id": {"in": ["planner", "other"]}}]}, 6),
        ({"AND": [all_of_sam, {"metadata": {"n": 3}}]}, 1),
        ({"AND": [all_of_sam, {"metadata": {"n": {"gte": 3}}}]}, 2),
        ({"AND": [all_of_sam, {"NOT": {"keywords": {"icontains": "TRIP 1"}}}]}, 4),
        ({"AND": [{"user_id": "sam"}, {"user_id": "alex"}]}, 0),
    ]
    counts = [client.get_all(filters=document)["count"] for document, _ in cases]
    assert counts == [count for _, count in cases], counts
    return counts


def change(client: Any) -> list[str]:
    memory_id = client.add("Sam likes tea.", user_id="sam", infer=False)["results"][0]["id"]
    client.update(memory_id, text="Sam likes coffee.", metadata={"n": 9}, expiration_date="2099-12-31")
    events = [one["event"] for one in client.history(memory_id)]
    client.batch_update([{"memory_id": memory_id, "text": "Sam likes cocoa."}])
    assert client.get(memory_id)["memory"] == "Sam likes cocoa."
    other = client.add("Sam is tall.", user_id="sam", infer=False)["results"][0]["id"]
    client.delete(other)
    client.batch_delete([{"memory_id": memory_id}])
    return events


def entities(client: Any) -> None:
    named = {(one["type"], one["name"]) for one in client.users()["results"]}
    assert {("user", "alex"), ("user", "sam"), ("agent", "planner"), ("run", "trips")} <= named, named
    client.delete_all(user_id="alex")
    assert client.get_all(filters={"user_id": "alex"})["count"] == 0
    client.delete_users(user_id="alex")
    assert "alex" not in {one["name"] for one in client.users()["results"]}
    client.reset()
    assert client.users()["results"] == []


def refusals(client: Any) -> None:
    missing = "01900000-0000-7000-8000-000000000000"
    refused(lambda: client.get(missing), MemoryNotFoundError)
    refused(lambda: client.get_all(filters={"AND": [{"user_id": "a"}, {"mood": 1}]}), ValidationError)
    refused(lambda: client.create_memory_export(schema="{}"), MemoryNotFoundError)
    refused(lambda: client.project.get(), MemoryNotFoundError)
    refused(lambda: MemoryClient(host=HOST, api_key="loci_wrong"), (ValueError, AuthenticationError))


def refused(call: Any, expected: Any) -> None:
    try:
        call()
    except expected as error:
        said = str(error)
    else:
        raise AssertionError(expected)
    assert not said.startswith("{"), said  # the detail alone, and no document


async def concurrent() -> int:
    async with AsyncMemoryClient(host=HOST, api_key=KEY) as client:
        users = [f"user{number}" for number in range(8)]
        await asyncio.gather(*(client.add(f"{name} is here.", user_id=name, infer=False) for name in users))
        found = await asyncio.gather(*(client.search("Who is here?", filters={"user_id": name}) for name in users))
        assert [[one["memory"] for one in each["results"]] for each in found] == [
            [f"{name} is here."] for name in users
        ]
        await client.reset()
        return len(users)


main()
