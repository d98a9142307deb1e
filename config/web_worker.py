"""The web server's worker process: gunicorn's for ASGI, which waits for no event stream when it has to stop."""

from gunicorn.workers.gasgi import ASGIWorker  # type: ignore[import-untyped]

from apps.sync.streams import end_all


class WebWorker(ASGIWorker):
    def handle_exit_signal(self) -> None:
        super().handle_exit_signal()
        end_all()
