import { ChatSync, MemoryStorage, SettingsSync, forgetCopies } from "../../static/js/sync-client.js";
import { equal, next, ok, pause, test, until } from "./harness.mjs";
import { MemoryLocks } from "./locks.mjs";
import { MemoryServer } from "./server.mjs";

const FAST = { debounce: 5, live: false, backoff: { base: 1, max: 5 }, pollInterval: 20 };

/** A client as another device has it, unless `more` shares storage and locks. */
async function client(server, more = {}) {
  const device = { storage: new MemoryStorage(), locks: new MemoryLocks(), fetch: server.fetch };
  const sync = new ChatSync({ ...FAST, ...device, chatId: server.chat.id, ...more });
  await sync.open();
  if (!sync.blocked && more.load !== false) await sync.load(more.window ?? { from: 0, limit: Infinity });
  return sync;
}

const texts = (list) => list.map(({ mes }) => mes);
const stored = async (storage) => Promise.all((await storage.names("")).map((name) => storage.get(name)));
const writes = (server) => server.requests.filter(({ method }) => method !== "GET");

test("edits of a field are sent once, after the last", async () => {
  const server = new MemoryServer("one", "two");
  const sync = await client(server, { debounce: 40 });
  const [{ id }, other] = sync.messages;
  for (const mes of ["one.", "one..", "one..."]) sync.edit(id, { mes });
  sync.edit(other.id, { is_system: true });
  equal(texts(sync.messages), ["one...", "two"]);
  equal(writes(server).length, 0);
  await until(() => sync.pending === 0);
  equal(writes(server).map(({ body }) => body.patches), [[
    { id, set: { mes: "one..." } }, { id: other.id, set: { is_system: true } },
  ]]);
  equal(server.messages, sync.messages);
});

test("what is typed and taken back is not sent", async () => {
  const server = new MemoryServer("one");
  const sync = await client(server);
  sync.edit(sync.messages[0].id, { mes: "two" });
  sync.edit(sync.messages[0].id, { mes: "one" });
  await sync.flush();
  equal([sync.pending, writes(server).length], [0, 0]);
});

test("a word in a long text goes out as a splice of under 300 bytes", async () => {
  const server = new MemoryServer(`${"Long ".repeat(400)}one ${"text ".repeat(400)}`);
  const sync = await client(server);
  const [{ id, mes }] = sync.messages;
  sync.edit(id, { mes: mes.replace("one", "two 😀") });
  await sync.flush();
  ok(writes(server)[0].bytes < 300, `${writes(server)[0].bytes} bytes`);
  equal(server.messages[0].mes, mes.replace("one", "two 😀"));
});

test("an append goes at once, behind earlier edits, and one write at a time", async () => {
  const server = new MemoryServer("one");
  const sync = await client(server, { debounce: 60_000 });
  server.weather = () => "late";
  sync.edit(sync.messages[0].id, { mes: "edited" });
  const both = [sync.append({ mes: "ok" }), sync.append({ mes: "ok" })];
  equal(texts(sync.messages), ["edited", "ok", "ok"]);
  const [[first], [second]] = await Promise.all(both);
  equal([first.index, second.index], [1, 2]);
  equal(writes(server).map(({ url }) => url.split("/").at(-2)), ["patch", "append", "append"]);
  await sync.flush();
  equal(sync.messages, server.messages);
});

test("a write whose reply was lost arrives once", async () => {
  const server = new MemoryServer("one");
  const sync = await client(server);
  let lost = 3;
  server.weather = (method) => (method === "POST" && (lost -= 1) >= 0 ? "lost" : "fine");
  await sync.append({ mes: "only once" });
  await sync.insert(sync.messages[0].id, { mes: "first" });
  await sync.flush();
  equal(texts(server.messages), ["first", "one", "only once"]);
  equal(sync.messages, server.messages);
  equal(new Set(writes(server).map(({ headers }) => headers["Idempotency-Key"])).size, 2);
});

test("refusals for a while are waited out as the server says", async () => {
  const server = new MemoryServer("one");
  const sync = await client(server);
  const replies = [{ status: 429, headers: { "Retry-After": "0" } }, { status: 503 }, { status: 500 }];
  server.weather = (method) => (method === "POST" && replies.length ? replies.shift() : "fine");
  sync.edit(sync.messages[0].id, { mes: "two" });
  await sync.flush();
  equal(texts(server.messages), ["two"]);
});

test("edits of other fields and other places by others merge, and are told of", async () => {
  const server = new MemoryServer("one two three", "other");
  const [a, b] = [await client(server), await client(server)];
  const [{ id }, other] = a.messages;
  a.edit(id, { mes: "ONE two three", name: "Mira" });
  a.edit(other.id, { mes: "changed" });
  a.editExtra(id, { recap: { text: "a" } });
  await a.flush();
  b.edit(id, { mes: "one two THREE", is_system: true });
  b.editExtra(id, { recap: { hash: "b" } });
  const changed = next(b, "changed");
  await b.flush();
  equal(texts((await changed).messages), ["ONE two THREE", "changed"]);
  await a.lookForChanges();
  equal(a.messages, server.messages);
  equal(b.messages, server.messages);
  const [{ mes, name, is_system, extra }] = server.messages;
  equal([mes, name, is_system, extra], ["ONE two THREE", "Mira", true, { recap: { text: "a", hash: "b" } }]);
});

test("the same place changed by both asks, keeps both texts, and lets other edits go on", async () => {
  const server = new MemoryServer("one two", "other");
  const device = { storage: new MemoryStorage(), locks: new MemoryLocks() };
  const [a, b] = [await client(server), await client(server, device)];
  const [{ id }, other] = a.messages;
  a.edit(id, { mes: "one zwei" });
  await a.flush();
  b.edit(id, { mes: "one deux" });
  b.edit(other.id, { mes: "goes on" });
  const asked = next(b, "conflict");
  await b.flush();
  const { base, mine, theirs, field } = await asked;
  equal([base, mine, theirs, field], ["one two", "one deux", "one zwei", "mes"]);
  equal(texts(server.messages), ["one zwei", "goes on"]);
  equal(b.pending, 1);
  await b.close();
  const later = new ChatSync({ ...FAST, ...device, fetch: server.fetch, chatId: server.chat.id });
  const again = next(later, "conflict");
  await later.open();
  const { resolve } = await again;
  resolve("one zwei deux");
  await later.flush();
  equal(texts(server.messages), ["one zwei deux", "goes on"]);
  equal(later.pending, 0);
});

test("an edit of a message that somebody deleted is told of and kept", async () => {
  const server = new MemoryServer("one", "two");
  const [a, b] = [await client(server), await client(server)];
  const [{ id }] = a.messages;
  await a.delete(id);
  b.edit(id, { mes: "much written" });
  const asked = next(b, "conflict");
  await b.flush();
  const { mine, theirs, discard } = await asked;
  equal([mine, theirs, b.pending], ["much written", null, 1]);
  discard();
  equal(b.pending, 0);
});

test("a message is not deleted with a text that one hasn't seen", async () => {
  const server = new MemoryServer("one");
  const [a, b] = [await client(server), await client(server)];
  const [{ id }] = a.messages;
  a.edit(id, { mes: "new" });
  await a.flush();
  const asked = next(b, "conflict");
  b.delete(id);
  const { resolve, theirs } = await asked;
  equal([theirs, server.messages.length], ["new", 1]);
  resolve(null);
  await b.flush();
  equal(server.messages, []);
});

test("an edit begun on an older text merges with the newer one", async () => {
  const server = new MemoryServer("one two three");
  const sync = await client(server);
  const [{ id }] = sync.messages;
  const other = await client(server);
  other.edit(id, { mes: "one two THREE" });
  await other.flush();
  await sync.lookForChanges();
  sync.edit(id, { mes: "ONE two three" }, { base: { mes: "one two three" } });
  await sync.flush();
  equal(texts(server.messages), ["ONE two THREE"]);
  const asked = next(sync, "conflict");
  sync.edit(id, { mes: "one 2 three" }, { base: { mes: "one II three" } });
  equal((await asked).theirs, "ONE two THREE");
});

test("messages that are only shown, not loaded, can be edited by their base", async () => {
  const server = new MemoryServer("one two three");
  const sync = await client(server, { load: false });
  const [{ id }] = server.messages;
  const other = await client(server);
  other.edit(id, { mes: "one two THREE" });
  await other.flush();
  sync.edit(id, { mes: "ONE two three" }, { base: { mes: "one two three" } });
  await sync.flush();
  equal(texts(server.messages), ["ONE two THREE"]);
});

test("an edit that is refused is set aside, and later ones go on", async () => {
  const server = new MemoryServer("one", "two", "three");
  const sync = await client(server);
  const [first, second, third] = sync.messages;
  const told = next(sync, "refused");
  sync.edit(first.id, { mes: "good" });
  sync.edit(second.id, { mes: "bad\0" });
  sync.edit(third.id, { mes: "too" });
  await sync.flush();
  const { edit, problem } = await told;
  equal([edit.id, problem.status], [second.id, 400]);
  equal(texts(server.messages), ["good", "two", "too"]);
  equal(sync.pending, 1);
  sync.edit(second.id, { mes: "better" });
  await sync.flush();
  equal(texts(server.messages), ["good", "better", "too"]);
  const failure = await sync.append({ mes: "\0" }).catch((it) => it);
  equal(failure.status, 400);
});

test("an edit made on top of a refused one is sent as an edit of what the server has", async () => {
  const server = new MemoryServer(`one ${"and more ".repeat(20)}two`);
  const sync = await client(server);
  const [{ id, mes }] = sync.messages;
  const refused = mes.replace("one", "the very first one");
  let replies = 0;
  server.weather = (method) => {
    if (method === "GET" || (replies += 1) > 1) return "fine";
    sync.edit(id, { mes: refused.replace("two", "TWO") });
    return { status: 413 };
  };
  sync.edit(id, { mes: refused });
  await sync.flush();
  await sync.flush();
  equal(texts(server.messages), [refused.replace("two", "TWO")]);
  equal(sync.pending, 0);
});

test("what was written on a swipe that is refused is told of, and changes no other swipe", async () => {
  const server = new MemoryServer("one two three");
  const sync = await client(server);
  const [{ id }] = sync.messages;
  const asked = next(sync, "conflict");
  server.weather = () => {
    if (sync.edits.length === 1) sync.edit(id, { mes: "one two three four", name: "Mira" });
    return "fine";
  };
  const problem = await sync.addSwipe(id, { mes: "one two\0 three" }).catch((it) => it);
  equal([problem.status, (await asked).mine, (await asked).edit.gone], [400, "one two three four", true]);
  await sync.flush();
  const [{ swipes, name }] = server.messages;
  equal([swipes, name], [["one two three"], "Mira"]);
});

test("a refused text that is tried again later replaces its own swipe, whole", async () => {
  const long = `one two ${"three ".repeat(20)}`;
  const server = new MemoryServer(long);
  const sync = await client(server);
  const [{ id }] = sync.messages;
  const refusals = [{ status: 413 }];
  server.weather = (method) => (method === "POST" && refusals.length ? refusals.shift() : "fine");
  const told = next(sync, "refused");
  sync.edit(id, { mes: `${long}four` });
  await sync.flush();
  const { retry } = await told;
  await sync.addSwipe(id, { mes: "another" });
  await sync.orderSwipes(id, [1, 0]);
  sync.selectSwipe(id, 1);
  sync.edit(id, { mes: "x" });
  await sync.flush();
  equal(server.messages[0].swipes, ["another", "x"]);
  retry();
  await sync.flush();
  equal(server.messages[0].swipes, ["another", `${long}four`]);
});

test("the version before a new one is chosen while the page knows the new text alone", async () => {
  const server = new MemoryServer("one");
  const sync = await client(server, { load: false });
  const [{ id }] = server.messages;
  sync.track([{ id, mes: "one" }]);
  await sync.addSwipe(id, { mes: "another" });
  sync.track([{ id, mes: "another" }]);
  await sync.selectSwipe(id, 0);
  await until(() => sync.pending === 0);
  equal([server.messages[0].mes, server.messages[0].swipe_id], ["one", 0]);
});

test("a message hidden offline stays no question where somebody changes its text", async () => {
  const server = new MemoryServer("one", "two");
  const sync = await client(server, { load: false });
  const [tracked, unknown] = server.messages.map(({ id }) => id);
  sync.track([{ id: tracked, mes: "one" }]);
  sync.addEventListener("conflict", () => { throw new Error("asked"); });
  const other = await client(server);
  for (const message of other.messages) other.edit(message.id, { mes: `${message.mes} more` });
  await other.flush();
  for (const id of [tracked, unknown]) sync.edit(id, { is_system: true });
  await sync.flush();
  equal(server.messages.map(({ mes, is_system }) => [mes, is_system]), [["one more", true], ["two more", true]]);
});

test("a write that was in effect already brings what came with it", async () => {
  const server = new MemoryServer("first", "one two", "last");
  const [a, b] = [await client(server), await client(server)];
  const [first, { id }, last] = a.messages;
  a.edit(id, { mes: "1 one two" });
  a.delete(first.id);
  await a.flush();
  // One rev, which holds an edit that b hasn't seen.
  equal(server.chat.rev, 1);
  b.delete(first.id);
  await b.flush();
  equal(b.state.rev, 1);
  b.edit(id, { mes: b.message(id).mes.replace("two", "two 2") });
  b.edit(last.id, { name: "Mira" });
  await b.flush();
  equal(texts(server.messages), ["1 one two 2", "last"]);
  equal(b.messages, server.messages);
});

test("signed out, edits are kept until one may write again", async () => {
  const server = new MemoryServer("one");
  const sync = await client(server);
  server.weather = () => ({ status: 401 });
  const told = next(sync, "blocked");
  sync.edit(sync.messages[0].id, { mes: "two" });
  await sync.flush();
  equal([(await told).status, sync.pending], [401, 1]);
  server.weather = () => "fine";
  sync.resume();
  await sync.flush();
  equal([texts(server.messages), sync.pending], [["two"], 0]);
});

test("a log that doesn't reach back: the chat is read anew and edits go onto it", async () => {
  const server = new MemoryServer("one two three", "second");
  const [a, b] = [await client(server), await client(server)];
  const [{ id }, second] = a.messages;
  a.edit(id, { mes: "one two THREE" });
  await a.append({ mes: "third" });
  await a.delete(second.id);
  server.forget();
  b.edit(id, { mes: "ONE two three" });
  b.edit(second.id, { mes: "gone" });
  const asked = next(b, "conflict");
  await b.flush();
  equal(texts(server.messages), ["ONE two THREE", "third"]);
  equal((await asked).mine, "gone");
  equal(b.messages, server.messages);
});

test("changes of several pages: the chat is read anew and edits go onto it", async () => {
  const server = new MemoryServer("one two three", "second");
  const [a, b] = [await client(server), await client(server)];
  const [{ id }] = a.messages;
  a.edit(id, { mes: "one two THREE" });
  await a.append({ mes: "third" });
  server.pageSize = 1;
  await b.lookForChanges();
  equal(b.messages, server.messages);
  b.edit(id, { mes: "ONE two THREE" });
  await b.flush();
  equal(texts(server.messages), ["ONE two THREE", "second", "third"]);
});

test("what stands before a deleted message stands before the next one", async () => {
  const server = new MemoryServer("a", "b", "c", "d");
  const [one, two] = [await client(server), await client(server)];
  const [, b, c, d] = one.messages;
  await one.delete(b.id);
  await one.delete(c.id);
  const inserted = two.insert(b.id, { mes: "x" });
  const moved = two.move(d.id, { before: b.id });
  await Promise.all([inserted, moved]);
  await two.flush();
  ok(["a x d", "a d x"].includes(texts(server.messages).join(" ")), texts(server.messages).join(" "));
  equal(two.messages, server.messages);
});

test("what stands before a deleted message stands before the next one, also where the log doesn't tell", async () => {
  const server = new MemoryServer("a", "b", "c", "d");
  const [one, two] = [await client(server), await client(server)];
  const [, b, c] = one.messages;
  await one.delete(b.id);
  await one.delete(c.id);
  server.forget();
  await two.insert(b.id, { mes: "x" });
  equal(texts(server.messages), ["a", "x", "d"]);
});

test("what stands before a deleted message doesn't stand before one that its own client deletes", async () => {
  const server = new MemoryServer("a", "b", "c", "d");
  const [one, two] = [await client(server), await client(server)];
  const [, b, c] = one.messages;
  await one.delete(b.id);
  await Promise.all([two.delete(c.id), two.insert(b.id, { mes: "x" })]);
  equal(texts(server.messages), ["a", "x", "d"]);
});

test("what stands before a message that is gone doesn't go elsewhere where its place isn't known", async () => {
  for (const forgets of [false, true]) {
    for (const write of ["insert", "move"]) {
      const server = new MemoryServer("a", "b", "c", "d");
      const one = await client(server);
      const two = await client(server, { window: { from: 3, limit: 1 } });
      const [, b, , d] = one.messages;
      await one.delete(b.id);
      if (forgets) server.forget();
      const met = next(two, "conflict");
      if (write === "insert") two.insert(b.id, { mes: "x" });
      else two.move(d.id, { before: b.id });
      const { gone, discard } = await met.then(({ edit, discard }) => ({ gone: edit.gone, discard }));
      equal([gone, two.pending, texts(server.messages)], [true, 1, ["a", "c", "d"]], `${write} ${forgets}`);
      discard();
      await two.flush();
      equal([two.pending, texts(server.messages)], [0, ["a", "c", "d"]]);
    }
  }
});

test("what stands before a message that never was is refused", async () => {
  const server = new MemoryServer("a", "b");
  const [one, two] = [await client(server), await client(server)];
  await one.append({ mes: "c" });
  const refused = next(two, "refused");
  two.insert("01900000-0000-7000-8000-000000000000", { mes: "x" }).catch(() => {});
  equal([(await refused).problem.status, texts(server.messages)], [400, ["a", "b", "c"]]);
});

test("swipes: each text stays its own", async () => {
  const server = new MemoryServer("first");
  const [a, b] = [await client(server), await client(server)];
  const [{ id }] = a.messages;
  b.edit(id, { mes: "FIRST" });
  await a.addSwipe(id, { mes: "second", extra: { model: "m" } });
  await b.flush();
  await b.lookForChanges();
  await a.lookForChanges();
  equal([server.messages[0].swipes, server.messages[0].swipe_id], [["FIRST", "second"], 1]);
  await b.orderSwipes(id, [1, 0]);
  await a.deleteSwipe(id, 0);
  equal([server.messages[0].swipes, server.messages[0].mes], [["second"], "second"]);
  await b.lookForChanges();
  for (const sync of [a, b]) equal(sync.messages, server.messages);
});

test("data of a message is set, null is a value, cleared and kept for each swipe", async () => {
  const server = new MemoryServer("one");
  const sync = await client(server, { debounce: 40 });
  const [{ id }] = sync.messages;
  sync.editData(id, "notes", { a: { x: 1 }, b: null, c: "see" });
  sync.editData(id, "notes", { c: "seen" }, { clear: ["a"] });
  equal(await sync.getData(id, "notes"), { b: null, c: "seen" });
  equal(writes(server).length, 0);
  await until(() => sync.pending === 0);
  equal(writes(server).map(({ body }) => body.patches), [[{ id, data: { namespace: "notes", values: { b: null, c: "seen" } } }]]);
  sync.editRecap(id, "She left.");
  await sync.addSwipe(id, { mes: "two" });
  await sync.flush();
  equal([await sync.getData(id, "notes"), await sync.getRecap(id)], [{}, null]);
  equal(await sync.getData(id, "notes", { swipe: "previous" }), { b: null, c: "seen" });
  equal(await sync.getRecap(id, { swipe: 0 }), "She left.");
  await sync.selectSwipe(id, 0);
  await sync.moveData(id, "notes", "b", "d");
  await sync.moveData(id, "notes", "none", "e");
  sync.editData(id, "notes", {}, { clear: ["c"] });
  sync.editRecap(id, null);
  await sync.flush();
  const { notes, auto_recap_memory: recap } = server.messages[0].extra;
  equal([notes, recap.memory, recap.edited], [{ d: null }, null, false]);
  equal(sync.messages, server.messages);
});

test("data of both is kept by key, and the same key asks with plain values", async () => {
  const server = new MemoryServer("one");
  const [a, b] = [await client(server), await client(server)];
  const [{ id }] = a.messages;
  a.editData(id, "notes", { a: 1, both: null });
  await a.flush();
  b.editData(id, "notes", { b: 1, both: "mine" });
  const asked = next(b, "conflict");
  await b.flush();
  const { base, mine, theirs, resolve } = await asked;
  equal([base === undefined, mine, theirs], [true, "mine", null]);
  equal(server.messages[0].extra.notes, { a: 1, both: null, b: 1 });
  resolve(undefined);
  await b.flush();
  equal(server.messages[0].extra.notes, { a: 1, b: 1 });
});

test("metadata merges by key, and the same key asks", async () => {
  const server = new MemoryServer();
  const [a, b] = [await client(server), await client(server)];
  a.editMetadata({ theme: { dark: true }, note: "a b c" });
  await a.flush();
  b.editMetadata({ theme: { size: 12 }, note: "mine" });
  const asked = next(b, "conflict");
  await b.flush();
  equal((await asked).path, ["note"]);
  equal(server.chat.metadata, { theme: { dark: true, size: 12 }, note: "a b c" });
  await a.lookForChanges();
  equal(a.metadata, server.chat.metadata);
});

test("edits made offline survive a reload and arrive once", async () => {
  const server = new MemoryServer("one");
  const device = { storage: new MemoryStorage(), locks: new MemoryLocks() };
  const before = await client(server, device);
  server.weather = (method) => (method === "POST" ? "lost" : "away");
  before.edit(before.messages[0].id, { mes: "edited" });
  before.append({ mes: "appended" });
  await until(() => texts(server.messages)[0] === "edited");
  await before.close();
  server.weather = () => "fine";
  const after = await client(server, device);
  await after.flush();
  equal(texts(server.messages), ["edited", "appended"]);
  equal(after.messages, server.messages);
  equal(await device.storage.names(""), []);
});

test("a write is in storage, with its key and its edits, before it goes out", async () => {
  const server = new MemoryServer("one");
  const storage = new MemoryStorage();
  const sync = await client(server, { storage });
  const kept = [];
  server.weather = async (method) => {
    if (method === "POST") kept.push(await stored(storage));
    return "fine";
  };
  // A slow storage.
  const put = storage.put.bind(storage);
  storage.put = async (...args) => { await pause(5); return put(...args); };
  await sync.append({ mes: "two" });
  sync.edit(sync.messages[0].id, { mes: "edited" });
  await sync.flush();
  const keys = writes(server).map(({ headers }) => headers["Idempotency-Key"]);
  equal(kept.map(([{ sending }]) => sending.key), keys);
  equal(kept.map(([{ sending, edits }]) => edits.filter(({ n }) => sending.edits.includes(n)).length), [1, 1]);
});

test("what was being sent is sent again after a reload, with the same key and body", async () => {
  const server = new MemoryServer("one");
  const device = { storage: new MemoryStorage(), locks: new MemoryLocks() };
  for (const write of ["append", "insert", "addSwipe", "edit"]) {
    const before = await client(server, device);
    const [{ id }] = before.messages;
    server.weather = (method) => (method === "POST" ? "lost" : "fine");
    const now = server.chat.rev;
    if (write === "append") before.append({ mes: "two" });
    else if (write === "edit") { before.edit(id, { mes: "edited" }); before.flush(); }
    else before[write](id, { mes: write });
    await until(() => server.chat.rev > now);
    await before.close();
    server.weather = () => "fine";
    server.dropReplies();
    const after = await client(server, device);
    await after.flush();
    equal([after.pending, server.chat.rev, after.messages], [0, now + 1, server.messages], write);
    await after.close();
    const [first, ...again] = writes(server).slice(-2).map(({ headers, body }) => [headers["Idempotency-Key"], body]);
    equal(again, [first], write);
  }
  equal(await device.storage.names(""), []);
});

test("an edit whose key is known has arrived", async () => {
  const server = new MemoryServer("one");
  const sync = await client(server);
  const replies = [{ status: 422 }];
  server.weather = (method) => (method === "POST" && replies.length ? replies.shift() : "fine");
  server.refusal = { type: "/problems/idempotency-key-reused" };
  sync.addEventListener("refused", () => { throw new Error("refused"); });
  equal(await sync.append({ mes: "arrived before" }), []);
  await sync.flush();
  equal([sync.pending, writes(server)], [0, []]);
});

test("what several tabs left behind is sent by the next one, what a tab still holds is not", async () => {
  const server = new MemoryServer("one", "two", "three");
  const device = { storage: new MemoryStorage(), locks: new MemoryLocks(), debounce: 60_000 };
  const tabs = [await client(server, device), await client(server, device), await client(server, device)];
  tabs.forEach((tab, n) => tab.edit(tab.messages[n].id, { mes: `tab ${n}` }));
  await Promise.all(tabs.slice(0, 2).map((tab) => tab.close()));
  const after = await client(server, device);
  await after.flush();
  await until(() => after.pending === 0);
  equal(texts(server.messages), ["tab 0", "tab 1", "three"]);
  await tabs[2].close();
  await until(() => texts(server.messages)[2] === "three" && after.pending === 1);
  await after.flush();
  equal(texts(server.messages), ["tab 0", "tab 1", "tab 2"]);
});

test("without locks a record is taken over only when nobody renews it", async () => {
  const server = new MemoryServer("one");
  const device = { storage: new MemoryStorage(), locks: null, debounce: 60_000 };
  const before = await client(server, device);
  before.edit(before.messages[0].id, { mes: "held" });
  await pause(1);
  const second = await client(server, device);
  equal(second.pending, 0);
  const [name] = await device.storage.names("");
  await device.storage.put(name, { ...(await device.storage.get(name)), seen: 0 });
  const third = await client(server, device);
  await third.flush();
  equal(texts(server.messages), ["held"]);
});

test("others' writes arrive by the stream, and by polling where there is none", async () => {
  const server = new MemoryServer("one");
  const [a, b] = [await client(server), await client(server, { live: true, pollInterval: 60_000 })];
  await until(() => server.listeners === 1);
  a.edit(a.messages[0].id, { mes: "seen" });
  await until(() => b.messages[0].mes === "seen");
  server.hangUp();
  await a.append({ mes: "missed" });
  await until(() => b.messages.length === 2);
  await b.close();
  await until(() => server.listeners === 0);
  server.weather = (_, url) => (url.endsWith("/events/") ? { status: 404 } : "fine");
  const c = await client(server, { live: true, fetch: (...args) => server.fetch(...args) });
  await a.append({ mes: "polled" });
  await until(() => c.messages.length === 3);
  await c.close();
});

test("what is written while a stream opens is read once the server listens", async () => {
  const server = new MemoryServer("one");
  server.isDeaf = true;
  const [a, b] = [await client(server), await client(server, { live: true, pollInterval: 60_000 })];
  await pause(50); // a client that reads the changes at the headers has read them by now
  await a.append({ mes: "meanwhile" });
  server.listen();
  await until(() => b.messages.length === 2);
  await b.close();
});

test("a window follows what is written in it, and is read anew where places change before it", async () => {
  const server = new MemoryServer(...Array.from({ length: 30 }, (_, n) => `m${n}`));
  const [a, b] = [await client(server), await client(server, { load: false })];
  await b.load({ from: -10, limit: 10 });
  equal([b.from, b.total, b.messages.length], [20, 30, 10]);
  await a.append({ mes: "new" });
  await a.delete(a.messages[0].id);
  await b.lookForChanges();
  equal(b.messages, server.messages.slice(b.from));
  equal(b.total, 30);
  await b.loadEarlier(5);
  equal(b.messages, server.messages.slice(15));
});

test("a move names messages that the window doesn't hold", async () => {
  const server = new MemoryServer("a", "b", "c", "d", "e");
  const sync = await client(server, { load: false });
  const [a, b, c, d, e] = server.messages;
  await sync.move(d.id, { before: b.id });
  await sync.move(a.id, { before: null });
  await sync.load({ from: -2, limit: 2 });
  await sync.move(e.id, { before: c.id });
  await sync.move(e.id, { before: "elsewhere" });
  equal(texts(server.messages), ["d", "b", "e", "c", "a"]);
  await sync.flush();
  equal([sync.pending, sync.messages], [0, server.messages.slice(3)]);
});

test("settings of different keys never collide, the same place asks", async () => {
  const server = new MemoryServer();
  const open = () => new SettingsSync({ ...FAST, storage: new MemoryStorage(), locks: null, fetch: server.fetch }).open();
  const [a, b] = [await open(), await open()];
  for (const value of [0.1, 0.2, 0.3]) a.set("temperature", value);
  b.set("top_p", 0.9);
  b.set("theme", { dark: true, size: 2 });
  await Promise.all([a.flush(), b.flush()]);
  equal(server.settings.settings, { temperature: 0.3, top_p: 0.9, theme: { dark: true, size: 2 } });
  await a.lookForChanges();
  a.set("theme", { dark: true });
  await a.flush();
  equal(server.settings.settings.theme, { dark: true });
  const asked = next(b, "conflict");
  a.set("top_p", 0.5);
  await a.flush();
  b.set("top_p", 0.7);
  await b.flush();
  const { theirs, resolve } = await asked;
  equal(theirs, 0.5);
  resolve(0.6);
  await b.flush();
  equal(server.settings.settings.top_p, 0.6);
});

test("a window all of whose messages others deleted goes on", async () => {
  const server = new MemoryServer("one", "two", "three");
  const [narrow, other] = [await client(server, { window: { from: 0, limit: 1 } }), await client(server)];
  await other.delete(other.messages[0].id);
  await narrow.append({ mes: "four" });
  await narrow.lookForChanges();
  equal([narrow.pending, narrow.total, texts(narrow.messages)[0]], [0, 3, "two"]);
});

test("a window that began where the chat ends no more shows what is added there", async () => {
  const server = new MemoryServer("one", "two", "three", "four");
  const [late, other] = [await client(server, { window: { from: 3, limit: Infinity } }), await client(server)];
  for (const { id } of other.messages.slice(2)) other.delete(id);
  await other.flush();
  await late.lookForChanges();
  await other.append({ mes: "anew" });
  await late.lookForChanges();
  equal([late.from, texts(late.messages)], [2, ["anew"]]);
});

test("two tabs that go at the same moment leave their edits to the next", async () => {
  const server = new MemoryServer("one", "two");
  const device = { storage: new MemoryStorage(), locks: new MemoryLocks(), debounce: 100_000 };
  const [first, second] = [await client(server, device), await client(server, device)];
  first.edit(first.messages[0].id, { mes: "one by the first" });
  second.edit(second.messages[1].id, { mes: "two by the second" });
  await pause(20);
  await second.close();
  const slow = Object.create(device.storage); // the first tab goes while the record of the second is read
  let reads = 0;
  slow.get = async (name) => {
    reads += 1;
    if (reads === 1) await first.close();
    const record = await device.storage.get(name);
    await pause(1);
    return record;
  };
  for (const name of ["put", "delete", "names"]) slow[name] = (...args) => device.storage[name](...args);
  const third = await client(server, { ...device, storage: slow });
  await until(async () => { await third.flush(); return (await slow.names("")).length === 0; }, "all is sent");
  equal(texts(server.messages), ["one by the first", "two by the second"]);
});

test("a window asked for while another is read is read too", async () => {
  const server = new MemoryServer(...Array.from({ length: 12 }, (_, n) => `m${n}`));
  server.weather = () => "late";
  const sync = await client(server, { window: { from: -3, limit: 3 } });
  const [, all] = await Promise.all([sync.load({ from: -3, limit: 3 }), pause(9).then(() => sync.load({ from: 0, limit: Infinity }))]);
  equal(all.length, 12);
});

test("a message is moved before the one named, whatever was inserted meanwhile", async () => {
  const server = new MemoryServer(...Array.from({ length: 10 }, (_, n) => `m${n}`));
  const [sync, other] = [await client(server, { window: { from: -3, limit: 3 } }), await client(server)];
  const [moved, before] = [server.messages[1].id, server.messages[8].id];
  await other.insert(server.messages[0].id, { mes: "new" });
  let lost = 1;
  server.weather = (method, url) => (url.includes("messages/?from=7") && lost-- > 0 ? "lost" : "fine");
  await sync.move(moved, { before });
  const at = server.messages.findIndex(({ id }) => id === moved);
  equal(server.messages[at + 1].id, before);
});

test("a refused edit sent again goes to its own swipe", async () => {
  const server = new MemoryServer("one");
  const sync = await client(server);
  const [{ id }] = sync.messages;
  await sync.addSwipe(id, { mes: "other" });
  await sync.selectSwipe(id, 0);
  const refused = next(sync, "refused");
  server.refusal = { type: "/problems/too-large", status: 413 };
  server.weather = (method) => (method === "POST" ? { status: 413 } : "fine");
  sync.edit(id, { mes: "one and more" });
  const { retry } = await refused;
  server.weather = () => "fine";
  await sync.selectSwipe(id, 1);
  retry();
  await sync.flush();
  equal(server.messages[0].swipes, ["one and more", "other"]);
});

test("a deletion that is taken back in a conflict is told apart from one that arrived", async () => {
  const server = new MemoryServer("one", "two");
  const [sync, other] = [await client(server), await client(server)];
  const [{ id }] = sync.messages;
  other.edit(id, { mes: "changed" });
  await other.flush();
  const conflict = next(sync, "conflict");
  const reply = sync.delete(id, { alone: true });
  (await conflict).discard();
  equal([await reply, server.messages.length], [undefined, 2]);
});

test("an open chat can be read, and written in, after a reload while the server is away", async () => {
  const server = new MemoryServer("one", "two");
  const [copies, storage] = [new MemoryStorage(), new MemoryStorage()];
  const first = await client(server, { copies, storage });
  await first.append({ mes: "three" });
  await first.lookForChanges();
  await first.close();
  server.weather = () => "away";
  const shown = [];
  const again = new ChatSync({ ...FAST, copies, storage, locks: new MemoryLocks(), fetch: server.fetch, chatId: server.chat.id });
  again.addEventListener("changed", ({ detail }) => shown.push(texts(detail.messages)));
  await again.open();
  equal(texts(await again.load({ from: 0, limit: Infinity })), ["one", "two", "three"]);
  equal(shown, [["one", "two", "three"]]);
  again.edit(again.messages[1].id, { mes: "two, offline" });
  again.append({ mes: "four, offline" });
  equal(texts(again.messages), ["one", "two, offline", "three", "four, offline"]);
  await again.close();

  const other = new MemoryStorage();
  server.weather = () => "fine";
  const elsewhere = await client(server, { storage: other });
  elsewhere.edit(elsewhere.messages[0].id, { mes: "one, elsewhere" });
  await elsewhere.flush();
  const back = await client(server, { copies, storage });
  await back.flush();
  equal(texts(back.messages), ["one, elsewhere", "two, offline", "three", "four, offline"]);
  equal(texts(server.messages), texts(back.messages));
});

test("where others wrote the same since the copy, a person decides", async () => {
  const server = new MemoryServer("one");
  const [copies, storage] = [new MemoryStorage(), new MemoryStorage()];
  await (await client(server, { copies, storage })).close();
  const elsewhere = await client(server);
  elsewhere.edit(elsewhere.messages[0].id, { mes: "theirs" });
  await elsewhere.flush();
  let away = true;
  server.weather = () => (away ? "away" : "fine");
  const sync = new ChatSync({ ...FAST, copies, storage, locks: new MemoryLocks(), fetch: server.fetch, chatId: server.chat.id });
  await sync.open();
  await sync.load({ from: 0, limit: Infinity });
  const conflict = next(sync, "conflict");
  sync.edit(sync.messages[0].id, { mes: "mine" });
  away = false;
  const { mine, theirs } = await conflict;
  equal([mine, theirs], ["mine", "theirs"]);
  equal(texts(server.messages), ["theirs"]);
});

test("a copy goes with the right to read the chat, at signing out, and holds the last messages only", async () => {
  const server = new MemoryServer(...Array.from({ length: 230 }, (_, n) => `${n}`));
  const copies = new MemoryStorage();
  const sync = await client(server, { copies, user: "alice" });
  await sync.close();
  const [name] = await copies.names("");
  const { window } = await copies.get(name);
  equal([window.from, window.total, window.messages.length], [30, 230, 200]);
  await forgetCopies({ user: "bob", copies });
  equal((await copies.names("")).length, 1);
  await forgetCopies({ user: "alice", copies });
  equal(await copies.names(""), []);
  await (await client(server, { copies, user: "alice" })).close();
  equal((await copies.names("")).length, 1);
  server.weather = () => ({ status: 404 });
  const gone = await client(server, { copies, user: "alice" });
  await gone.close();
  equal([gone.blocked.status, await copies.names("")], [404, []]);
});
