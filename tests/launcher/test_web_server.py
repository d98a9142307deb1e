"""The web server as it is started."""

import http.client
import time

import pytest

from tests.conftest import WebServer


@pytest.mark.worker
@pytest.mark.django_db(transaction=True)
def test_a_connection_that_was_idle_for_some_seconds_is_used_again(web_server: WebServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", web_server.port)
    for pause in (0, 3):
        time.sleep(pause)
        connection.request("GET", "/healthz/")
        assert connection.getresponse().read()
    connection.close()
