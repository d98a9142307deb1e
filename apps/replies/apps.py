from django.apps import AppConfig


class RepliesConfig(AppConfig):
    name = "apps.replies"

    def ready(self) -> None:
        from apps.common.jobs import job_changed
        from apps.replies.models import Generation
        from apps.replies.streams import notify_generation_changed

        job_changed.connect(notify_generation_changed, sender=Generation)
