from collections.abc import Callable
from functools import partial

from django.apps import AppConfig
from django.db.models import Q


class ExtractionConfig(AppConfig):
    name = "apps.extraction"

    def ready(self) -> None:
        from apps.chats.pages.plugins import activity_sources
        from apps.chats.signals import characters_merged, chat_branched, chat_committed, chat_deleted, chat_restored
        from apps.common.jobs import Kind, kinds
        from apps.common.on_demand import on_demand
        from apps.common.pages.settings_index import indexed_settings
        from apps.extraction.models import EmbeddingJob, ExtractionRun, IndexJob
        from apps.llm.queries import embeds_on_server, uses_server
        from apps.llm.signals import embedding_changed, generation_changed

        chat_committed.connect(on_demand("apps.extraction.runs.settling:on_chat_committed"))
        chat_branched.connect(on_demand("apps.extraction.progress:on_chat_branched"))
        chat_deleted.connect(on_demand("apps.extraction.runs.operations:on_chat_deleted"))
        chat_restored.connect(on_demand("apps.extraction.runs.settling:on_chat_restored"))
        characters_merged.connect(on_demand("apps.extraction.settings.stores:on_characters_merged"))
        embedding_changed.connect(on_demand("apps.extraction.jobs.embedding_jobs:on_embedding_changed"))
        generation_changed.connect(on_demand("apps.extraction.runs.waiting:on_generation_changed"))
        indexed_settings.register(on_demand("apps.extraction.views.setting_pages:memory_settings"))
        activity_sources.register(on_demand("apps.extraction.runs.queries:activities"))
        run = ExtractionRun, "tasks:execute_run", "tasks:send_run", uses_server
        embedding = (
            EmbeddingJob, "jobs.embedding_jobs:execute_claimed", "tasks:send_embedding_job", embeds_on_server
        )  # fmt: skip
        index = IndexJob, "jobs.index_jobs:execute_and_follow", "tasks:send_index_job", embeds_on_server
        for (model, executor, sender, waits), queue in (
            (run, "extraction"), (embedding, "indexing"), (index, "indexing")
        ):  # fmt: skip
            execute, send = (on_demand(f"apps.extraction.{path}") for path in (executor, sender))
            kinds.register(Kind(model, "models", execute, send, only=waits))
            kinds.register(Kind(model, queue, execute, send, only=partial(_negated, waits)))


def _negated(condition: Callable[[], Q]) -> Q:
    return ~condition()
