from django.apps import AppConfig


class RepliesConfig(AppConfig):
    name = "apps.replies"
