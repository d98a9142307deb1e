from django.apps import AppConfig


class ExchangeConfig(AppConfig):
    name = "apps.exchange"

    def ready(self) -> None:
        from apps.chats.signals import chat_imported
        from apps.exchange.imported_chats import read_documents

        chat_imported.connect(read_documents)
