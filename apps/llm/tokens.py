"""Token counting with a published vocabulary of the models."""

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from math import ceil
from threading import Lock
from typing import Any

ENCODING = "o200k_base"  # used by OpenAI's current models; other models' counts differ by a few percent
OLDER_ENCODING = "cl100k_base"  # used by OpenAI's models before GPT-4o
ESTIMATE_MARGIN = 1.15  # added to the counts of models whose vocabulary is not known
# The tokenizer refuses more than 200,000 tokens at once. A character has at most 4, one per byte.
MAX_PIECE_CHARACTERS = 40_000
# Most texts of a prompt were in the one before: their counts are kept, in at most 64 MB and mostly in less than 5.
MAX_KEPT_COUNTS, MAX_KEPT_CHARACTERS = 8192, 2000


_loading = Lock()


@cache
def load_encoding(name: str = ENCODING) -> Any:
    """Return a tokenizer of this process."""
    with _loading:
        bindings = _bindings()
    return bindings.tokenizer_for_encoding(name)


@cache
def _bindings() -> Any:
    """Return the compiled module of the package, which can be loaded once.

    The package around it reads the vocabularies once more, to decode: 72 MB of each process, and 0.6 s of CPU.
    """
    package = find_spec("bpe_openai")
    spec = package and PathFinder.find_spec("bpe_openai._bindings", package.submodule_search_locations)
    if not spec or not spec.loader:
        raise ImportError("The package bpe-openai is not complete.")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def count_tokens(text: str, encoding: str = ENCODING) -> int:
    """Return the number of tokens of ``text``, of any length. Special tokens such as ``<|endoftext|>`` are plain text.

    A text above MAX_PIECE_CHARACTERS is counted in pieces, each of which may add a token.
    """
    if len(text) <= MAX_KEPT_CHARACTERS:
        return _count_and_keep(text, encoding)
    return sum(_count(piece, encoding) for piece in _pieces(text))


def _count(text: str, encoding: str) -> int:
    try:
        return len(load_encoding(encoding).encode(text))
    except UnicodeEncodeError:  # half of a pair of surrogates
        return len(load_encoding(encoding).encode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")))


_count_and_keep = lru_cache(MAX_KEPT_COUNTS)(_count)


def token_counter(model: str) -> Callable[[str], int]:
    """Return the function that counts the tokens of a text for a model.

    Without a model, and for OpenAI's, the count is exact. For others it is an estimate with a margin, so that a text
    within a limit is so for the model too.
    """
    encoding = _encoding_of(model)
    if encoding is None:
        return lambda text: ceil(count_tokens(text) * ESTIMATE_MARGIN)
    return lambda text: count_tokens(text, encoding)


def _encoding_of(model: str) -> str | None:
    """Return the name of a model's encoding, or None if it isn't known. Names may begin with a provider's."""
    name = model.rpartition("/")[2].lower()
    if name.startswith(("gpt-oss", "gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "chatgpt", "o1", "o3", "o4")) or not name:
        return ENCODING
    return OLDER_ENCODING if name.startswith(("gpt-4", "gpt-3.5")) else None


def _pieces(text: str) -> Iterator[str]:
    """Yield consecutive pieces of at most MAX_PIECE_CHARACTERS, which end before a space if they have one."""
    start = 0
    while len(text) - start > MAX_PIECE_CHARACTERS:
        limit = start + MAX_PIECE_CHARACTERS
        space = text.rfind(" ", start + 1, limit)
        end = limit if space == -1 else space
        yield text[start:end]
        start = end
    yield text[start:]
