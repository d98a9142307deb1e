from django.apps import AppConfig


class ExtractionConfig(AppConfig):
    name = "apps.extraction"
    label = "extraction"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from apps.chats.pages.plugins import activity_sources
        from apps.chats.signals import chat_branched, chat_committed
        from apps.extraction.activity import runs_under_way
        from apps.extraction.tasks import on_chat_branched, on_chat_committed, on_embedding_changed
        from apps.llm.events import embedding_changed

        chat_committed.connect(on_chat_committed)
        chat_branched.connect(on_chat_branched)
        embedding_changed.connect(on_embedding_changed)
        activity_sources.register(runs_under_way)
