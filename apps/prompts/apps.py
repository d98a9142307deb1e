from django.apps import AppConfig


class PromptsConfig(AppConfig):
    name = "apps.prompts"
    # The label is that of the tables, of the rows of django_migrations and of the names in stored archives. Another one
    # would need them all renamed, and a release that is rolled back would not find its tables.
    label = "injection"

    def ready(self) -> None:
        from apps.chats.pages.plugins import panels
        from apps.chats.restorable_rows import RestorableRows, restorable_rows
        from apps.chats.signals import characters_merged, chat_branched, chat_changed, chat_committed
        from apps.common.on_demand import on_demand
        from apps.common.pages.settings_index import indexed_settings

        restorable_rows.register(
            RestorableRows(
                "recalls",
                on_demand("apps.prompts.message_recalls:save_recalls"),
                on_demand("apps.prompts.message_recalls:restore_recalls"),
            )
        )
        chat_branched.connect(on_demand("apps.prompts.message_recalls:copy_recalls"))
        chat_changed.connect(on_demand("apps.prompts.operations:adopt_recall"))
        chat_committed.connect(on_demand("apps.prompts.operations:recall_appended_turn"))
        characters_merged.connect(on_demand("apps.prompts.settings.stores:on_characters_merged"))
        indexed_settings.register(on_demand("apps.prompts.pages.settings_forms:prompt_settings"))
        panels.register(on_demand("apps.prompts.pages.recall_cards:recall_panel"))
        panels.register(on_demand("apps.prompts.repair_notes:repair_panel"))
