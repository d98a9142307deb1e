from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "apps.memories"

    def ready(self) -> None:
        from apps.chats import signals
        from apps.chats.operations.attachments import Attachment, attachments
        from apps.memories.operations import bin, characters
        from apps.memories.operations.restoring import restore_sources, save_sources

        attachments.register(Attachment("sources", save_sources, restore_sources))
        signals.chat_deleted.connect(bin.on_bin_changed)
        signals.chat_restored.connect(bin.on_bin_changed)
        signals.chat_purged.connect(bin.on_chat_purged)
        signals.character_renamed.connect(characters.on_character_renamed)
        signals.persona_renamed.connect(characters.on_persona_renamed)
        signals.characters_merged.connect(characters.on_characters_merged)
