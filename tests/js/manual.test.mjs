import { Calls, ChatSync, MemoryStorage } from "../../static/js/sync-client.js";
import { equal, ok, pause, test, until } from "./harness.mjs";
import { MemoryServer } from "./server.mjs";

const FAST = { debounce: 5, live: false, backoff: { base: 1, max: 5 }, pollInterval: 20 };
const texts = (list) => list.map(({ mes }) => mes);
const writes = (server) => server.requests.filter(({ method }) => method !== "GET");

async function client(server, more = {}) {
  const device = { storage: new MemoryStorage(), locks: null, fetch: server.fetch };
  const sync = new ChatSync({ ...FAST, ...device, chatId: server.chat.id, ...more });
  await sync.open();
  await sync.load({ from: 0, limit: Infinity });
  return sync;
}

test("in manual mode edits are sent by a push and others' are read by a pull, and by nothing else", async () => {
  const server = new MemoryServer("one", "two");
  const storage = new MemoryStorage();
  const [mine, other] = [await client(server, { manual: true, storage }), await client(server)];
  other.edit(other.messages[1].id, { mes: "theirs" });
  await other.flush();
  const before = server.requests.length;
  mine.edit(mine.messages[0].id, { mes: "mine" });
  const appended = mine.append({ mes: "three" });
  await pause(40);
  equal(server.requests.length, before);
  equal([texts(mine.messages), mine.pending], [["mine", "two", "three"], 2]);
  await mine.pull();
  equal([texts(mine.messages), writes(server).length], [["mine", "theirs", "three"], 1]);
  await mine.push();
  ok((await appended).length === 1, "the append is answered");
  equal([texts(server.messages), mine.pending], [["mine", "theirs", "three"], 0]);
});

test("edits of a manual client stay in storage until the next one pushes them", async () => {
  const server = new MemoryServer("one");
  const device = { manual: true, storage: new MemoryStorage() };
  const first = await client(server, device);
  first.edit(first.messages[0].id, { mes: "kept" });
  await first.close();
  const second = await client(server, device);
  await pause(30);
  equal([texts(second.messages), texts(server.messages)], [["kept"], ["one"]]);
  await second.push();
  equal(texts(server.messages), ["kept"]);
});

test("without locks the edits of a closed client are sent at once by the next one", async () => {
  const server = new MemoryServer("one");
  const device = { storage: new MemoryStorage(), debounce: 60_000 };
  const first = await client(server, device);
  first.edit(first.messages[0].id, { mes: "left" });
  await first.close();
  const second = await client(server, device);
  await until(() => texts(server.messages)[0] === "left");
  await second.close();
  equal(await device.storage.names(""), []);
});

/** A server that answers with these replies in turn, and notes what it was asked. */
function answering(...replies) {
  const asked = [];
  const fetch = async (url, { method, headers, body }) => {
    asked.push({ url, method, key: headers["Idempotency-Key"], body: body && JSON.parse(body) });
    const [status, document] = replies.shift();
    return new Response(document === null ? null : JSON.stringify(document), { status });
  };
  return { asked, calls: new Calls({ fetch, baseUrl: "/api/v1/", backoff: { base: 1, max: 2 } }) };
}

test("a call is repeated with its key, a list is read to its end, and what is missing is null", async () => {
  const scene = { id: "s", name: "One" };
  const { asked, calls } = answering(
    [503, {}], [201, { scene }],
    [200, { results: [1], next: "https://elsewhere.example/api/v1/chats/c/recalls/?cursor=x" }], [200, { results: [2], next: null }],
    [404, { status: 404 }], [204, null],
  );
  equal(await calls.endScene("c", "m", { name: "One" }), scene);
  equal(asked[0].key, asked[1].key);
  equal(asked[1].body, { name: "One", message: "m" });
  equal(await calls.recalls("c"), [1, 2]);
  equal(asked[3].url, "/api/v1/chats/c/recalls/?cursor=x");
  equal(await calls.recall("c", "m"), null);
  equal(await calls.deleteSnapshot("x"), null);
});

test("a call that the server refuses rejects with its problem", async () => {
  const problem = { status: 400, detail: "It can\u2019t be." };
  const { calls } = answering([400, problem]);
  equal(await calls.editRecall("c", "m", "").catch((error) => error), problem);
});
