from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "apps.memories"
    label = "memories"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from apps.chats import activity
        from apps.chats.events import subscribe, take_part
        from apps.llm.builtin import register_task
        from apps.llm.events import on_embedding_change
        from apps.memories.activity import runs_under_way
        from apps.memories.builtin_extraction.tasks import TASKS
        from apps.memories.tasks import follow_branch, follow_embedding_change, keep_up

        for name, task in TASKS.items():
            register_task(name, task)
        subscribe(keep_up)
        take_part(follow_branch)
        on_embedding_change(follow_embedding_change)
        activity.register(runs_under_way)
