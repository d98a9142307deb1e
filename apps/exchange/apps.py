from django.apps import AppConfig


class ExchangeConfig(AppConfig):
    name = "apps.exchange"

    def ready(self) -> None:
        from apps.chats.signals import chat_imported
        from apps.common.on_demand import on_demand
        from apps.prompts.signals import other_forms, recall_changed

        chat_imported.connect(on_demand("apps.exchange.imported_chats:read_documents"))
        other_forms.register(on_demand("apps.exchange.recalls:says_recall"))
        recall_changed.connect(on_demand("apps.exchange.recalls:write_recall"))
