"""Worker process of the web server: gunicorn's ASGI worker that closes event streams when it stops."""

from gunicorn.workers.gasgi import ASGIWorker  # type: ignore[import-untyped]

from apps.sync.streams import end_all


class WebWorker(ASGIWorker):
    """ASGI worker whose shutdown does not wait for open event streams."""

    def handle_exit_signal(self) -> None:
        """Stop accepting requests and end all event streams."""
        super().handle_exit_signal()
        end_all()
