from django.apps import AppConfig


class BuiltinConfig(AppConfig):
    name = "apps.builtin"

    def ready(self) -> None:
        from apps.builtin.tasks import TASKS
        from apps.common.on_demand import on_demand
        from apps.extraction.steps.scene_detection import register_detector
        from apps.llm.backends.builtin import register_task

        register_detector(on_demand("apps.builtin.scene_breaks.detection:detect_scenes"))

        for name, task in TASKS.items():
            register_task(name, task)
