"""The sync client in a real browser, against a server in memory that keeps to the contract (tests/js)."""

import pytest
from playwright.sync_api import Page

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.memories.models import Entity
from apps.memories.queries import tombstones
from tests.e2e.conftest import SCRIPT_TESTS
from tests.factories import make_chat, make_memory

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

MODULES = sorted(path.name for path in SCRIPT_TESTS.glob("*.test.mjs"))
# Runs every test of a module; what failed, by name.
RUN = """async (name) => {
  const harness = await import("/tests/js/harness.mjs");
  await import(`/tests/js/${name}`);
  const failed = {};
  for (const test of harness.names()) {
    const failure = await harness.run(test);
    if (failure) failed[test] = failure;
  }
  return [harness.names().length, failed];
}"""
# Two tabs with what a browser really has: IndexedDB, Web Locks, a BroadcastChannel.
TABS = """async () => {
  const { ChatSync } = await import("/static/js/sync-client.js");
  const { MemoryServer } = await import("/tests/js/server.mjs");
  const { until } = await import("/tests/js/harness.mjs");
  const server = new MemoryServer("one", "two");
  let online = false;
  server.weather = (method) => (online || method === "GET" ? "fine" : "away");
  const options = {
    chatId: server.chat.id, fetch: server.fetch, debounce: 5, pollInterval: 20, backoff: { base: 1, max: 5 },
  };
  const before = await new ChatSync(options).open();
  await before.load({ from: 0, limit: Infinity });
  before.edit(before.messages[0].id, { mes: "edited offline" });
  before.append({ mes: "written offline" });
  await until(() => before.isSent(before.edits[0]));
  await before.close();
  const tabs = [new ChatSync(options), new ChatSync(options)];
  await Promise.all(tabs.map((tab) => tab.open()));
  online = true;
  await Promise.all(tabs.map((tab) => tab.load({ from: 0, limit: Infinity })));
  await until(() => tabs.every((tab) => tab.messages.length === 3));
  const texts = [server.messages, ...tabs.map((tab) => tab.messages)].map((list) => list.map(({ mes }) => mes));
  await Promise.all(tabs.map((tab) => tab.close()));
  return texts;
}"""

# Two devices at a chat of this server.
SERVER = """async ([chatId, token]) => {
  const { ChatSync, MemoryStorage, SettingsSync } = await import("/static/js/sync-client.js");
  const options = {
    chatId, live: false, debounce: 5, locks: null, headers: { Authorization: `Bearer ${token}` }, user: token,
  };
  const all = { from: 0, limit: Infinity };
  const device = async () => {
    const sync = await new ChatSync({ ...options, storage: new MemoryStorage() }).open();
    sync.addEventListener("refused", ({ detail }) => { throw new Error(JSON.stringify(detail.problem)); });
    await sync.load(all);
    return sync;
  };
  const [a, b] = [await device(), await device()];
  const [first, second, third] = a.messages;
  a.edit(first.id, { mes: first.mes.replace("one", "ONE 😀") });
  a.editExtra(first.id, { notes: { by: "a" } });
  a.editMetadata({ theme: { dark: true } });
  await a.append({ mes: "appended", is_user: true });
  b.edit(first.id, { mes: first.mes.replace("three", "THREE"), is_system: true });
  b.editMetadata({ theme: { size: 2 } });
  b.move(third.id, { before: first.id });
  b.insert(second.id, { mes: "inserted" });
  b.addSwipe(second.id, { mes: "another", extra: { model: "m" } });
  await b.flush();
  await a.lookForChanges();
  a.delete(third.id);
  await a.flush();
  await b.lookForChanges();
  const fresh = await device();
  const undone = await b.undo();
  await a.lookForChanges();
  const plain = (sync) => sync.messages.map(({ updated_at, ...message }) => message);
  const settings = await new SettingsSync({ ...options, storage: new MemoryStorage() }).open();
  settings.set("sampler", { temperature: 0.7 });
  await settings.flush();
  const stored = (await new SettingsSync({ ...options, storage: new MemoryStorage() }).open()).settings;
  const again = await device();
  return {
    pending: [a.pending, b.pending], undone: undone?.kind, stored, metadata: a.metadata,
    before: fresh.messages.map(({ mes }) => mes), after: plain(again), a: plain(a), b: plain(b),
  };
}"""


@pytest.mark.parametrize("module", MODULES)
def test_module(page_with_tests: Page, module: str):
    count, failed = page_with_tests.evaluate(RUN, module)
    assert count > 0
    assert not failed, "\n".join(failed.values())


def test_what_was_written_offline_arrives_once_from_the_browsers_storage(page_with_tests: Page):
    texts = page_with_tests.evaluate(TABS)
    assert texts == [["edited offline", "two", "written offline"]] * 3


def test_two_devices_at_this_server(page_with_tests: Page, transactional_db: None):
    owner = User.objects.create_user("alice@example.com", "alice-password")
    chat = make_chat(owner, f"one two three{' and more' * 40}", "second", "third")
    _, secret = create_token(owner, name="Device", scope="write")
    told = page_with_tests.evaluate(SERVER, [str(chat.pk), secret])
    assert told["pending"] == [0, 0]
    assert told["before"] == [f"ONE 😀 two THREE{' and more' * 40}", "inserted", "another", "appended"]
    assert told["undone"] == "patch"
    assert [message["mes"] for message in told["after"]] == ["third", *told["before"]]
    assert told["a"] == told["b"] == told["after"]
    assert told["metadata"] == {"theme": {"dark": True, "size": 2}}
    assert told["stored"] == {"sampler": {"temperature": 0.7}}


# A page that looks at a chat of this server before and after a memory is deleted, and reads graphs.
MEMORIES = """async ([chatId, memoryId, token]) => {
  const { ChatSync, MemoryStorage, readGraph } = await import("/static/js/sync-client.js");
  const headers = { Authorization: `Bearer ${token}` };
  const sync = await new ChatSync({ chatId, live: false, locks: null, headers, storage: new MemoryStorage() }).open();
  await sync.load({ from: 0, limit: 10 });
  const told = [];
  sync.addEventListener("tombstones", ({ detail }) => told.push(...detail.tombstones.map(({ id }) => id)));
  await sync.lookForChanges();
  const before = (await readGraph({ headers }, { chat: chatId })).nodes.map(({ label }) => label);
  await fetch(`/api/v1/memories/${memoryId}/`, { method: "DELETE", headers });
  for (let n = 0; n < 2; n += 1) await sync.lookForChanges();
  const after = (await readGraph({ headers }, { chat: chatId })).nodes;
  const problem = await readGraph({ headers }, { memory: "nonsense" }).catch((refused) => refused);
  return { told, before, after, status: problem.status };
}"""


# A page that looks at a chat of this server after many memories are deleted.
MANY = """async ([chatId, memoryIds, token]) => {
  const { ChatSync, MemoryStorage } = await import("/static/js/sync-client.js");
  const headers = { Authorization: `Bearer ${token}` };
  const sync = await new ChatSync({ chatId, live: false, locks: null, headers, storage: new MemoryStorage() }).open();
  await sync.load({ from: 0, limit: 10 });
  const told = [];
  sync.addEventListener("tombstones", ({ detail }) => told.push(...detail.tombstones.map(({ id }) => id)));
  for (const id of memoryIds) await fetch(`/api/v1/memories/${id}/`, { method: "DELETE", headers });
  for (let n = 0; n < 2; n += 1) await sync.lookForChanges();
  return told;
}"""


def test_it_tells_of_each_of_many_deleted_memories_once(
    page_with_tests: Page, transactional_db: None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tombstones, "MAX_TOMBSTONES", 3)
    owner = User.objects.create_user("alice@example.com", "alice-password")
    chat = make_chat(owner, "Tom likes tea.")
    ids = [str(make_memory(chat, f"Tom likes {n} teas.").pk) for n in range(10)]
    _, secret = create_token(owner, name="Device", scope="write")
    assert page_with_tests.evaluate(MANY, [str(chat.pk), ids, secret]) == ids


def test_it_tells_of_a_deleted_memory_once_and_reads_the_graph(page_with_tests: Page, transactional_db: None):
    owner = User.objects.create_user("alice@example.com", "alice-password")
    chat = make_chat(owner, "Tom likes tea.")
    memory = make_memory(chat, "Tom likes tea.")
    memory.entities.add(Entity.objects.create(owner=owner, chat=chat, name="Tom", kind=Entity.Kind.CHARACTER))
    _, secret = create_token(owner, name="Device", scope="write")
    told = page_with_tests.evaluate(MEMORIES, [str(chat.pk), str(memory.pk), secret])
    assert told == {"told": [str(memory.pk)], "before": ["Tom"], "after": [], "status": 400}
