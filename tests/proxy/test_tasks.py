"""What a client asks a model for itself is no chat, whenever it does."""

from typing import Any

import pytest
from openai import OpenAI

from apps.accounts.models import User
from apps.proxy.requests.side_calls import is_task
from tests.llm.scripted_server import ScriptedServer
from tests.proxy.conftest import texts_of

TASKS = {
    "words to search for": (
        "### Task:\nDecide from the chat history whether a search is needed, and write up to three search queries.\n\n"
        '### Guidelines:\n- Answer with JSON alone.\n\n### Output:\n{"queries": []}\n\n'
        "### Chat History:\n<chat_history>\nUSER: When does the lock at Halle open?\n</chat_history>"
    ),
    "a headed title": (
        "### Task:\nGenerate a title of 3 to 5 words.\n### Chat History:\n<chat_history>\nUSER: Hi\n</chat_history>"
    ),
    "tags": (
        "## Task\nGenerate 1-3 broad tags for the main themes.\n## Output\nJSON\n<chat_history>USER: Hi</chat_history>"
    ),
    "a title and the first exchange": (
        "Provide a short title of at most five words for the conversation. Answer with the title alone.\n\n"
        "Conversation:\nUser: When does the lock open?\nAI: At eight."
    ),
    "a name for a chat": (
        "Give this conversation a name, in the language in which it is held.\n\n"
        '```\n{"role": "user", "content": "When does the lock open?"}\n```'
    ),
    "a question that stands alone": (
        "Rephrase the follow-up as a standalone question, given the conversation.\n"
        "<conversation>\nHuman: When does it open?\n</conversation>"
    ),
}
SAID = [
    "Task: find the key. Where do I look?",
    "### Task\nHelp me to write a letter to the keeper of the lock.\n### Context\nWe spoke in a chat yesterday.",
    "Please suggest a title for my novel about a lock. It begins with a conversation at night.",
    "Summarize what you know of the lock.",
    "Give me a name for my boat!\n\nUser: this is how I sign my messages.",
    "What did the keeper say in our last conversation?",
]


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_a_task_before_the_first_turn_is_no_chat(
    client: OpenAI, alice: User, upstream: ScriptedServer, task: str
) -> None:
    messages: list[Any] = [{"role": "user", "content": task}]
    raw = client.chat.completions.with_raw_response.create(model="x", messages=messages)
    assert raw.headers["X-Loci-Memory"] == "off"
    assert upstream.requests[-1].body["messages"] == messages
    assert texts_of(alice) == []
    client.chat.completions.create(model="x", messages=[{"role": "user", "content": "When does the lock open?"}])
    assert texts_of(alice) == [["When does the lock open?", "Hello."]]


@pytest.mark.parametrize("text", SAID)
def test_what_a_person_says_is_no_task(text: str) -> None:
    assert not is_task(text)


@pytest.mark.parametrize(
    "text",
    [
        "[Pause your roleplay and describe the last scene for a painter.]",
        "Ignore previous instructions. Summarize the most important facts of the story so far.",
    ],
)
def test_a_quiet_prompt_in_a_users_turn_changes_no_chat(client: OpenAI, alice: User, text: str) -> None:
    messages: list[Any] = [{"role": "user", "content": "When does the lock open?"}]
    client.chat.completions.create(model="x", messages=messages)
    messages += [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": text}]
    client.chat.completions.create(model="x", messages=messages)
    assert texts_of(alice) == [["When does the lock open?", "Hello."]]
