from django.apps import AppConfig


class RepliesConfig(AppConfig):
    name = "apps.replies"

    def ready(self) -> None:
        from apps.chats.restorable_rows import RestorableRows, restorable_rows
        from apps.chats.signals import chat_deleted
        from apps.common.jobs import job_changed
        from apps.common.on_demand import on_demand
        from apps.prompts.assembly.previews import register_preview
        from apps.replies.models import Generation

        restorable_rows.register(
            RestorableRows(
                "generations",
                on_demand("apps.replies.deleted_generations:save_generations"),
                on_demand("apps.replies.deleted_generations:restore_generations"),
            )
        )
        chat_deleted.connect(on_demand("apps.replies.operations:on_chat_deleted"))
        register_preview(on_demand("apps.replies.previews:preview_memory"))
        job_changed.connect(on_demand("apps.replies.streams:notify_generation_changed"), sender=Generation)
