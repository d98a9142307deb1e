from pathlib import Path

from django.apps import AppConfig


class InjectionConfig(AppConfig):
    name = "apps.injection"

    def ready(self) -> None:
        from apps.chats.attachments import Attachment, attachments
        from apps.chats.pages.plugins import Sample, panels, samples
        from apps.chats.signals import characters_merged, chat_branched, chat_changed, chat_committed
        from apps.chats.transfer.carried import Carrier, carriers
        from apps.common.on_demand import on_demand
        from apps.common.pages.settings_index import indexed_settings

        attachments.register(
            Attachment(
                "recalls",
                on_demand("apps.injection.operations:save_recalls"),
                on_demand("apps.injection.operations:restore_recalls"),
            )
        )
        carriers.register(
            Carrier(
                "recall",
                "recall card",
                on_demand("apps.injection.carried_recalls:exported_recalls"),
                on_demand("apps.injection.carried_recalls:read_recall"),
                on_demand("apps.injection.carried_recalls:import_recalls"),
            )
        )
        chat_branched.connect(on_demand("apps.injection.branches:copy_recalls"))
        chat_changed.connect(on_demand("apps.injection.operations:adopt_recall"))
        chat_committed.connect(on_demand("apps.injection.operations:recall_appended_turn"))
        characters_merged.connect(on_demand("apps.injection.settings.stores:on_characters_merged"))
        indexed_settings.register(on_demand("apps.injection.settings.forms:prompt_settings"))
        panels.register(on_demand("apps.injection.cards.panel:recall_panel"))
        panels.register(on_demand("apps.injection.repair.panel:repair_panel"))
        samples.register(Sample("The Salt Road", Path(self.path) / "demo" / "the_salt_road.jsonl"))
