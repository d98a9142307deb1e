from django.apps import AppConfig


class Mem0Config(AppConfig):
    name = "apps.mem0"

    def ready(self) -> None:
        from apps.common.jobs import job_changed
        from apps.extraction.models import ExtractionRun
        from apps.mem0.events import on_run_changed

        job_changed.connect(on_run_changed, sender=ExtractionRun)
