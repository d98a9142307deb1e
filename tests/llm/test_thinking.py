import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.replies.thinking import TAG, split_thinking
from tests.durations import takes_at_most

WORDS = st.text(alphabet="abc .\n[]:`é", max_size=20)
TAGS = st.sampled_from(
    [
        "<think>",
        "</think>",
        "<Thinking>",
        "</THINKING>",
        '<reasoning effort="high">',
        "</reasoning>",
        "<thought/>",
        "< think>",
    ]
)
FENCES = st.sampled_from(["```\n", "\n```\n", "\n~~~ python\n", "<thi", "nk>", "</"])


@pytest.mark.parametrize(
    ("text", "reply", "reasoning"),
    [
        ("<think>Hm.</think>Hello.", "Hello.", "Hm."),
        ("<think>\nHm.\n</think>\n\nHello.", "Hello.", "Hm."),
        ("<THINKING>Hm.</Thinking> Hello.", "Hello.", "Hm."),
        ("<reasoning effort='high'>Hm.</reasoning>Hello.", "Hello.", "Hm."),
        ("<thought>Hm.</thought>Hello.<think>Again.</think>", "Hello.", "Hm.\nAgain."),
        ("<think>a<think>b</think>c</think>Hello.", "Hello.", "a\nb\nc"),
        ("<think>a<thinking>b</thinking>c</think>Hello.", "Hello.", "a\nb\nc"),
        ("<think>I was cut off", "", "I was cut off"),
        ("Hello.<think>I was cut off", "Hello.", "I was cut off"),
        ("Thoughts without a beginning.</think>Hello.", "Hello.", "Thoughts without a beginning."),
        ("<think></think>Hello.", "Hello.", ""),
        ("<think/>Hello.", "Hello.", ""),
        ("Hello.</think>", "", "Hello."),
        ("[THINK]Hm.[/THINK]Hello.", "Hello.", "Hm."),
        ("<|channel>thought\nHm.<channel|>Hello.", "Hello.", "Hm."),
        ("<|channel>thought\nI was cut off", "", "I was cut off"),
        ("<seed:think>Hm.</seed:think>Hello.", "Hello.", "Hm."),
        ("◁think▷Hm.◁/think▷Hello.", "Hello.", "Hm."),
        ("<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Hello.<|END_RESPONSE|>", "Hello.", "Hm."),
        (
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.",
            "Hello.",
            "Hm.",
        ),
        ("<|channel|>analysis<|message|>I was <b>cut</b> off", "", "I was <b>cut</b> off"),
        ("<|channel|>final<|message|>Hello.<|return|>", "Hello.", ""),
        ("[Think] he said. The channel| is wide.", "[Think] he said. The channel| is wide.", ""),
        ("A <thought experiment> and <thinker> are words.", "A <thought experiment> and <thinker> are words.", ""),
        ("```xml\n<think>literal</think>\n```", "```xml\n<think>literal</think>\n```", ""),
        ("<think>Hm. ```\n</think>\n```\n<think>literal\n```", "```\n<think>literal\n```", "Hm. ```"),
        ("```\nnever closed\n<think>Hm.</think>Hello.", "```\nnever closed\nHello.", "Hm."),
    ],
)
def test_reasoning_is_separated_from_the_reply(text, reply, reasoning):
    assert split_thinking(text) == (reply, reasoning)


@given(st.text())
def test_a_text_without_tags_is_unchanged(text):
    if not TAG.search(text):
        assert split_thinking(text) == (text, "")


@given(st.lists(WORDS | TAGS).map("".join))
def test_no_tag_is_left(text):
    assert not TAG.search(split_thinking(text).reply) or "```" in text


@given(st.lists(WORDS | TAGS | FENCES).map("".join))
def test_no_text_is_added(text):
    reply, reasoning = split_thinking(text)
    assert set(reply + reasoning) <= set(text) | {"\n"}
    assert len(reply) + len(reasoning) <= len(text) + text.count("<")


@given(WORDS.filter(lambda text: "`" not in text), WORDS)
def test_text_after_a_closed_block_is_the_reply(thought, reply):
    assert split_thinking(f"<think>{thought}</think>{reply}").reply == reply.strip()


@pytest.mark.parametrize(
    "part",
    [
        "<think>",
        "</think>",
        "```a\n",
        "```\n",
        "<think></think>",
        "```\n<think>x</think>\n",
        "<think a=",
        "<|channel|>a",
        "[THINK]",
    ],
)
def test_hostile_texts_take_linear_time(part):
    text = part * (200_000 // len(part))
    with takes_at_most(5):
        split_thinking(text)


def test_thousands_of_closing_tags_take_no_time():
    with takes_at_most(5):
        assert split_thinking(f"{'a</think>' * 200_000}Hello.").reply == "Hello."
