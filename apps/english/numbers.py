"""Read numbers written as words. Without database access."""

from collections.abc import Iterable

_CARDINALS = dict(
    zip(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand".split(),
        map(str, [*range(1, 21), 30, 40, 50, 60, 70, 80, 90, 100, 1000]),
        strict=True,
    )
) | {"dozen": "12"}
# "First" to "third" are left out because they are seldom a quantity.
_ORDINALS = {f"{word}th": _CARDINALS[word] for word in "four six seven ten eleven thirteen fourteen".split()} | {
    "fifth": "5", "eighth": "8", "ninth": "9", "twelfth": "12", "twentieth": "20", "thirtieth": "30", "fortieth": "40",
    "fiftieth": "50", "hundredth": "100",
}  # fmt: skip
_MULTIPLIERS = ("100", "1000")


def to_digits(word: str) -> str:
    """Return a number word, from one to a thousand, as digits; return any other word unchanged."""
    tens, _, ones = word.partition("-")
    if tens in _CARDINALS and ones in _CARDINALS:
        return str(int(_CARDINALS[tens]) + int(_CARDINALS[ones]))
    return _CARDINALS.get(word) or _ORDINALS.get(word, word)


def multiply_factors(words: Iterable[str]) -> tuple[str, ...]:
    """Multiply numbers by a following hundred or thousand: "10", "1000" become "10000"."""
    result: list[str] = []
    for word in words:
        if result and word in _MULTIPLIERS and result[-1].isdecimal():
            result[-1] = str(int(result[-1]) * int(word))
        else:
            result.append(word)
    return tuple(result)
