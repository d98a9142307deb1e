from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "apps.memories"

    def ready(self) -> None:
        from apps.chats import signals
        from apps.chats.restorable_rows import RestorableRows, restorable_rows
        from apps.common.on_demand import on_demand

        restorable_rows.register(
            RestorableRows(
                "sources",
                on_demand("apps.memories.operations.deleted_sources:save_sources"),
                on_demand("apps.memories.operations.deleted_sources:restore_sources"),
            )
        )
        signals.chat_deleted.connect(on_demand("apps.memories.operations.bin:on_bin_changed"))
        signals.chat_restored.connect(on_demand("apps.memories.operations.bin:on_bin_changed"))
        signals.chat_purged.connect(on_demand("apps.memories.operations.bin:on_chat_purged"))
        signals.character_renamed.connect(on_demand("apps.memories.operations.characters:on_character_renamed"))
        signals.persona_renamed.connect(on_demand("apps.memories.operations.characters:on_persona_renamed"))
        signals.characters_merged.connect(on_demand("apps.memories.operations.characters:on_characters_merged"))
