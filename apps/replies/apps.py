from django.apps import AppConfig


class RepliesConfig(AppConfig):
    name = "apps.replies"

    def ready(self) -> None:
        from apps.chats.operations.attachments import Attachment, attachments
        from apps.chats.signals import chat_deleted
        from apps.common.jobs import job_changed
        from apps.injection.prompts.previews import register_preview
        from apps.replies.models import Generation
        from apps.replies.operations import on_chat_deleted
        from apps.replies.prompts.previews import preview_memory
        from apps.replies.restoring import restore_generations, save_generations
        from apps.replies.streams import notify_generation_changed

        attachments.register(Attachment("generations", save_generations, restore_generations))
        chat_deleted.connect(on_chat_deleted)
        register_preview(preview_memory)
        job_changed.connect(notify_generation_changed, sender=Generation)
