from pathlib import Path

from django.apps import AppConfig


class InjectionConfig(AppConfig):
    name = "apps.injection"
    label = "injection"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from apps.chats import events, panels, samples
        from apps.injection.cards import recall_panel
        from apps.injection.recalling import recall_when_sent

        events.subscribe(recall_when_sent)
        panels.register(recall_panel)
        samples.register(samples.Sample("The Salt Road", Path(self.path) / "demo" / "the_salt_road.jsonl"))
