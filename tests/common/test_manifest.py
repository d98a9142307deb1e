"""Loci can be installed as an app."""

import re
from io import BytesIO

from django.contrib.staticfiles import finders
from django.test import Client
from PIL import Image


def test_every_page_names_a_manifest_with_icons_of_the_sizes_it_says(db: None) -> None:
    client = Client()
    page = client.get("/accounts/login/").content.decode()
    [url] = re.findall(r'<link rel="manifest" href="([^"]+)"', page)
    response = client.get(url)
    assert response["Content-Type"] == "application/manifest+json"
    manifest = response.json()
    assert (manifest["display"], manifest["start_url"]) == ("standalone", "/")
    assert {icon["purpose"] for icon in manifest["icons"]} == {"any", "maskable"}
    for icon in manifest["icons"]:
        found = finders.find(icon["src"].removeprefix("/static/"))
        assert isinstance(found, str)
        with open(found, "rb") as file:
            picture = Image.open(BytesIO(file.read()))
        assert f"{picture.width}x{picture.height}" == icon["sizes"]
