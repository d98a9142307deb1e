from django.apps import AppConfig


class Mem0Config(AppConfig):
    name = "apps.mem0"

    def ready(self) -> None:
        from apps.common.jobs import job_changed
        from apps.common.on_demand import on_demand
        from apps.extraction.models import ExtractionRun

        job_changed.connect(on_demand("apps.mem0.events:on_run_changed"), sender=ExtractionRun)
