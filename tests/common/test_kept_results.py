"""What a process keeps from request to request is bounded: results of functions, heaps, prepared statements."""

import gc
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

import apps
from apps.english import clauses, differences, predicates, words
from apps.english.kept import MAX_LONG, MAX_SHORT
from apps.launcher.services import one_worker, web, worker
from apps.llm import tokens
from benchmarks.__main__ import BENCHMARKS

# Functions whose argument is one of a few values of the code or the settings, never of a request.
OF_FEW_VALUES = {
    "apps.llm.tokens.load_encoding",
    "apps.extraction.prompts.rendering._parts_of",
    "apps.common.http.rate_limits.Rate.parse",
    "apps.common.encryption._fernet",
    "apps.chats.api.guarded._fields_of",
    "apps.memories.relative_dates._ago",
    "apps.memories.relative_dates._pattern",
}


def caches() -> Iterator[Any]:
    for module in pkgutil.walk_packages(apps.__path__, "apps."):
        if ".migrations" not in module.name and ".management" not in module.name:
            importlib.import_module(module.name)
    gc.unfreeze()  # what was there when the tests began, too
    objects = gc.get_objects()
    gc.freeze()
    for found in objects:
        # Not isinstance: lazy objects of other tests would compute what they stand for.
        if type(found) is _lru_cache_wrapper and found.__module__.startswith("apps."):
            yield found


def test_each_function_that_keeps_its_results_keeps_a_limited_number() -> None:
    found = {f"{cache.__module__}.{cache.__qualname__}": cache for cache in caches()}
    assert len(found) > 10
    unlimited = {
        name
        for name, cache in found.items()
        if cache.cache_parameters()["maxsize"] is None and inspect.signature(cache).parameters
    }
    assert unlimited - OF_FEW_VALUES == set()


@pytest.mark.parametrize(
    "function", [words.content_words, clauses.clauses, differences.parse_statement, predicates.predicates]
)
def test_results_of_long_texts_are_not_kept_and_few_of_those_between(function: Any) -> None:
    for number in range(40):
        function(f"Anna{number} moved to Rome. " * (MAX_LONG // 10))
        function(f"Anna{number} moved to Rome with all that she had. " * (MAX_SHORT // 40 + 1))
    short, long = function.caches
    assert long.cache_info().currsize <= 32
    assert function("Mira lives in Rome.") == function("Mira lives in Rome.")
    assert short.cache_info().currsize > 0
    before = long.cache_info().currsize
    function("a " * MAX_LONG)
    assert long.cache_info().currsize == before


def test_counts_of_long_texts_are_not_kept() -> None:
    before = tokens._count_and_keep.cache_info().currsize
    tokens.count_tokens("word " * tokens.MAX_KEPT_CHARACTERS)
    assert tokens._count_and_keep.cache_info().currsize == before


def test_processes_of_many_threads_have_few_heaps() -> None:
    for service in (web(), one_worker(), *(worker(queue) for queue in settings.WAITING_QUEUES)):
        assert service.environment["MALLOC_ARENA_MAX"] == "2"


def test_a_connection_keeps_a_limited_number_of_statements(db: None) -> None:
    connection.ensure_connection()
    assert connection.connection.prepared_max <= 100
    assert connection.connection.prepare_threshold is None


def test_the_curve_is_a_benchmark() -> None:
    assert "memory" in BENCHMARKS
