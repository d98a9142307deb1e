"""The form of a connection in a real browser: a preset fills it in by keyboard, on a narrow screen too."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_characters import signed_in
from tests.llm.scripted_server import MODELS, ScriptedServer

__all__ = ["signed_in"]
pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_a_preset_fills_in_the_settings_of_its_server(signed_in: Page) -> None:
    page = signed_in
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/settings/models/add/")
    page.get_by_text("Calls and prices").click()
    page.get_by_label("Model", exact=True).fill("qwen3:8b")
    page.get_by_label("Fill in the fields for").focus()
    page.keyboard.type("Ollama")
    expect(page.get_by_label("Address")).to_have_value("http://localhost:11434")
    expect(page.get_by_label("Kind of server")).to_have_value("ollama")
    expect(page.get_by_label("Calls at a time")).to_have_value("1")
    expect(page.get_by_role("status").filter(has_text="whatever Ollama's own default is")).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Address")).to_have_value("http://localhost:8080/v1")
    expect(page.get_by_label("Kind of server")).to_have_value("openai")
    expect(page.get_by_label("Model", exact=True)).to_have_value("qwen3:8b")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Save").click()
    expect(
        page.get_by_text("“llama.cpp” was added. qwen3:8b writes your memories and replies from now on.")
    ).to_be_visible()
    expect(page.get_by_role("heading", name="Now a chat")).to_be_visible()


def test_a_model_that_the_server_offers_is_chosen_by_a_click(signed_in: Page) -> None:
    page = signed_in
    with ScriptedServer("ready") as server:
        page.goto("/settings/models/add/")
        page.get_by_label("Name", exact=True).fill("Home")
        page.get_by_label("Address").fill(server.url)
        page.get_by_role("button", name="List the server's models").click()
        offered = page.get_by_role("button", name=MODELS[0], exact=True)
        offered.click()
        expect(offered).to_have_attribute("aria-pressed", "true")
        expect(page.get_by_label("Model", exact=True)).to_have_value(MODELS[0])
