from django.apps import AppConfig


class ChatsConfig(AppConfig):
    name = "apps.chats"
    label = "chats"
    default_auto_field = "django.db.models.BigAutoField"
