from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "apps.webhooks"

    def ready(self) -> None:
        from django.db.models.signals import post_save

        from apps.common.jobs.transitions import job_changed
        from apps.common.on_demand import on_demand
        from apps.extraction.models import ExtractionRun
        from apps.memories.models import Memory
        from apps.memories.signals import memories_changed, memories_written
        from apps.prompts.models import Recall

        post_save.connect(on_demand("apps.webhooks.receivers:on_memory_saved"), sender=Memory)
        memories_written.connect(on_demand("apps.webhooks.receivers:on_memories_written"))
        memories_changed.connect(on_demand("apps.webhooks.receivers:on_memories_changed"))
        job_changed.connect(on_demand("apps.webhooks.receivers:on_run_changed"), sender=ExtractionRun)
        post_save.connect(on_demand("apps.webhooks.receivers:on_recall_saved"), sender=Recall)
