from django.apps import AppConfig


class ExtractionConfig(AppConfig):
    name = "apps.extraction"
    label = "extraction"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from apps.chats import activity
        from apps.chats.events import subscribe, take_part
        from apps.extraction.activity import runs_under_way
        from apps.extraction.tasks import follow_branch, follow_embedding_change, keep_up
        from apps.llm.events import on_embedding_change

        subscribe(keep_up)
        take_part(follow_branch)
        on_embedding_change(follow_embedding_change)
        activity.register(runs_under_way)
