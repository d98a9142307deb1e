from pathlib import Path

from django.apps import AppConfig


class InjectionConfig(AppConfig):
    name = "apps.injection"

    def ready(self) -> None:
        from apps.chats.operations.attachments import Attachment, attachments
        from apps.chats.pages.plugins import Sample, panels, samples
        from apps.chats.signals import characters_merged, chat_branched, chat_changed, chat_committed
        from apps.chats.transfer.carried import Carrier, carriers
        from apps.injection.branches import copy_recalls
        from apps.injection.cards.panel import recall_panel
        from apps.injection.carried_recalls import exported_recalls, import_recalls, read_recall
        from apps.injection.operations import adopt_recall, recall_appended_turn, restore_recalls, save_recalls
        from apps.injection.repair.panel import repair_panel
        from apps.injection.settings.stores import on_characters_merged

        attachments.register(Attachment("recalls", save_recalls, restore_recalls))
        carriers.register(Carrier("recall", "recall card", exported_recalls, read_recall, import_recalls))
        chat_branched.connect(copy_recalls)
        chat_changed.connect(adopt_recall)
        chat_committed.connect(recall_appended_turn)
        characters_merged.connect(on_characters_merged)
        panels.register(recall_panel)
        panels.register(repair_panel)
        samples.register(Sample("The Salt Road", Path(self.path) / "demo" / "the_salt_road.jsonl"))
