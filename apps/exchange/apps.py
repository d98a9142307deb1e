from django.apps import AppConfig


class ExchangeConfig(AppConfig):
    name = "apps.exchange"

    def ready(self) -> None:
        from apps.chats.signals import chat_imported
        from apps.exchange.imported_chats import read_documents
        from apps.exchange.recalls import says_recall, write_recall
        from apps.injection.carried_recalls import other_forms
        from apps.injection.signals import recall_changed

        chat_imported.connect(read_documents)
        other_forms.register(says_recall)
        recall_changed.connect(write_recall)
