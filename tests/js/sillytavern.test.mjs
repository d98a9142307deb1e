// The extension of SillyTavern: its messages as Loci's, and what has to be done so that Loci's chat follows.
import { align } from "../../clients/sillytavern/alignment.js";
import { RECALL, docOf, isTold, metadataOf } from "../../clients/sillytavern/messages.js";
import { Mirror } from "../../clients/sillytavern/mirror.js";
import { promptsOf } from "../../clients/sillytavern/slots.js";
import { MemoryStorage } from "../../static/js/sync-client.js";
import { equal, ok, test, until } from "./harness.mjs";
import { MemoryServer } from "./server.mjs";

const FAST = { debounce: 5, live: false, backoff: { base: 1, max: 5 }, pollInterval: 20 };
let clock = 0;

/** A message as SillyTavern has it. */
const said = (mes, more = {}) => ({ name: "Mira", is_user: false, is_system: false, send_date: `2026-01-01T00:00:${clock += 1}Z`, mes, extra: {}, ...more });
const mine = (mes, more) => said(mes, { name: "Anna", is_user: true, ...more });
const texts = (list) => list.map(({ mes }) => mes);
/** The chat as a reload of the page makes it: the same, in other objects. */
const reloaded = (chat) => structuredClone(chat);

/** A browser with the extension. */
class Tavern {
  records = new MemoryStorage();
  storage = new MemoryStorage();

  constructor(server, chat) {
    this.server = server;
    this.chat = chat;
  }

  async open() {
    const sync = { ...FAST, storage: this.storage, copies: this.copies ??= new MemoryStorage(), locks: null, fetch: this.server.fetch };
    this.mirror = new Mirror({ chatId: this.server.chat.id, place: "Mira.png/One", sync, records: this.records });
    this.mirror.addEventListener("changed", () => queueMicrotask(() => this.mirror.reconcile(this.chat)));
    await this.mirror.open();
    return this;
  }

  /** Have Loci follow, until everything has arrived and has been read. */
  async follow(state) {
    this.mirror.reconcile(this.chat, state);
    await until(async () => {
      await this.mirror.flush(1000);
      this.mirror.reconcile(this.chat, state);
      return this.mirror.sync.pending === 0 && this.chat.every((message) => !isTold(message) || state?.isWriting || this.mirror.idOf(message));
    });
  }

  async close() {
    await this.mirror.close();
  }
}

const tavern = async (server, ...chat) => {
  const made = await new Tavern(server, chat).open();
  await made.follow();
  return made;
};

test("a message is sent with its swipes and data, and without what is Loci's own", () => {
  const message = said("two", {
    swipes: ["one", "old"], swipe_id: 1, swipe_info: [{ extra: { model: "m" } }, { extra: {} }],
    extra: { model: "n", gone: null, [RECALL]: { text: "x" }, loci: { leave_out: true } },
  });
  const { swipes, swipe_id, extra, swipe_info } = docOf(message);
  equal([swipes, swipe_id, extra], [["one", "two"], 1, { model: "n" }]);
  equal(swipe_info, [{ extra: { model: "m" } }, { extra: { model: "n" } }]);
  equal(docOf(said("a\0b\ud800")).mes, "ab\ufffd");
  equal([isTold(said("x", { extra: { type: "help" } })), isTold(said("x", { extra: { type: "narrator" } }))], [false, true]);
  equal(metadataOf({ integrity: "i", note_prompt: "Rain.", tainted: true }, "p"), { note_prompt: "Rain.", sillytavern: { place: "p" } });
});

test("messages are found again by what they say, also edited ones", () => {
  const before = [said("hi"), mine("ok"), said("one", { swipes: ["one", "two"] }), mine("ok"), said("end")].map((message) => docOf(message));
  const now = [before[0], { ...before[1], mes: "okay" }, { ...before[2], mes: "two", send_date: "later" }, docOf(mine("new")), before[4]];
  equal([...align(before, now)].toSorted(([a], [b]) => a - b), [[0, 0], [1, 1], [2, 2], [4, 4]]);
});

test("slots become prompts at their places, in their order, and without macros", () => {
  const slot = (name, position, depth, role = "system") => ({ name, text: `${name} {{roll}}`, position, depth, role });
  const prompts = promptsOf([slot("long_term", "in_prompt", 2), slot("canon", "in_prompt", 0), slot("arcs", "in_chat", 3, "user"), { ...slot("x", "in_chat", 0), text: " " }]);
  equal(prompts, [
    { key: "loci_00_canon", value: "canon { {roll}}", position: 0, depth: 0, role: 0 },
    { key: "loci_01_long_term", value: "long_term { {roll}}", position: 0, depth: 0, role: 0 },
    { key: "loci_02_arcs", value: "arcs { {roll}}", position: 1, depth: 3, role: 1 },
  ]);
});

test("Loci's chat follows what is said, swiped, edited, hidden, inserted, moved and deleted", async () => {
  const server = new MemoryServer();
  const one = await tavern(server, said("Hello."), mine("Who are you?"), said("I am Mira."));
  equal(texts(server.messages), ["Hello.", "Who are you?", "I am Mira."]);
  const [, question, answer] = one.chat;
  Object.assign(answer, { swipes: ["I am Mira.", "Mira."], swipe_id: 1, mes: "Mira.", extra: { model: "m" } });
  question.mes = "Who are you then?";
  one.chat[0].is_system = true;
  one.chat.splice(1, 0, said("*Rain.*", { extra: { type: "narrator" } }));
  one.chat.push(mine("Good night."));
  await one.follow();
  equal(texts(server.messages), ["Hello.", "*Rain.*", "Who are you then?", "Mira.", "Good night."]);
  equal([server.messages[3].swipes, server.messages[3].extra, server.messages[0].is_system], [["I am Mira.", "Mira."], { model: "m" }, true]);
  const ids = server.messages.map(({ id }) => id);
  one.chat.push(...one.chat.splice(2, 1));
  one.chat.splice(1, 1);
  await one.follow();
  equal(server.messages.map(({ id }) => id), [ids[0], ids[3], ids[4], ids[2]]);
  Object.assign(answer, { swipes: ["Mira."], swipe_id: 0 });
  await one.follow();
  equal(server.messages[1].swipes, ["Mira."]);
});

test("what was written while Loci was away arrives once, also after a reload", async () => {
  const server = new MemoryServer();
  const one = await tavern(server, said("Hello."), mine("ok"));
  const ids = server.messages.map(({ id }) => id);
  server.weather = () => "away";
  one.chat[1].mes = "okay";
  one.chat.push(said("ok"), mine("ok"));
  one.mirror.reconcile(one.chat);
  await one.close();
  const again = Object.assign(new Tavern(server, reloaded(one.chat)), { records: one.records, storage: one.storage, copies: one.copies });
  again.chat.push(said("Later."));
  const opened = again.open();
  server.weather = () => "fine";
  await opened;
  await again.follow();
  equal(texts(server.messages), ["Hello.", "okay", "ok", "ok", "Later."]);
  equal(server.messages.slice(0, 2).map(({ id }) => id), ids);
});

test("a second browser, and one whose storage is gone, add nothing twice", async () => {
  const server = new MemoryServer();
  const one = await tavern(server, said("Hello."), mine("ok"), said("ok"), mine("ok"));
  const two = await new Tavern(server, reloaded(one.chat)).open();
  await two.follow();
  two.chat.push(said("From the other."));
  await two.follow();
  one.chat = reloaded(two.chat);
  await one.mirror.sync.lookForChanges();
  await one.follow();
  equal(texts(server.messages), ["Hello.", "ok", "ok", "ok", "From the other."]);
  const three = new Tavern(server, reloaded(two.chat));
  three.chat[2].mes = "Okay, changed before it knew of Loci's.";
  three.chat.push(mine("New."));
  await (await three.open()).follow();
  equal(texts(server.messages), ["Hello.", "ok", three.chat[2].mes, "ok", "From the other.", "New."]);
});

test("what was changed in Loci is merged with an edit here, and never undone by one who hasn't seen it", async () => {
  const server = new MemoryServer();
  const one = await tavern(server, said("one two three four"), mine("ok"));
  const other = await tavern(server, ...reloaded(one.chat));
  other.chat[0].mes = "ONE two three four";
  other.chat.push(mine("Only there."));
  await other.follow();
  one.chat[0].mes = "one two three FOUR";
  await one.follow();
  equal(texts(server.messages), ["ONE two three FOUR", "ok", "Only there."]);
  await until(() => one.mirror.differing === 2);
  await one.mirror.flush(1000);
  one.chat[0].mes = "one two drei FOUR";
  other.chat[0].mes = "ONE two trois four";
  await other.follow();
  one.mirror.reconcile(one.chat);
  await until(() => one.mirror.troubles.length === 1);
  one.mirror.troubles[0].resolve(one.mirror.troubles[0].mine);
  await one.mirror.flush(1000);
  ok(server.messages[0].mes.includes("drei"), server.messages[0].mes);
});

test("an incomplete reply isn't sent, and a chat that is being loaded deletes nothing", async () => {
  const server = new MemoryServer();
  const one = await tavern(server, said("Hello."), mine("Tell me."));
  one.chat.push(said("Once"));
  await one.follow({ isWriting: true });
  equal(texts(server.messages), ["Hello.", "Tell me."]);
  one.chat.at(-1).mes = "Once upon a time.";
  await one.follow();
  Object.assign(one.chat.at(-1), { swipes: ["Once upon a time."], swipe_id: 1, mes: "" });
  await one.follow();
  one.mirror.reconcile([]);
  await one.mirror.flush(100);
  equal(texts(server.messages), ["Hello.", "Tell me.", "Once upon a time."]);
});

test("most of a long chat is deleted only after a word, and a long chat arrives in parts", async () => {
  const server = new MemoryServer();
  const one = await tavern(server, ...Array.from({ length: 120 }, (_, n) => said(`Message ${n}.`)));
  equal(server.messages.length, 120);
  equal(server.requests.filter(({ url }) => url.endsWith("append/")).length, 3);
  one.chat.splice(10);
  one.mirror.reconcile(one.chat);
  equal(one.mirror.heldDeletions, 110);
  one.mirror.allowDeletions();
  await one.follow();
  equal(server.messages.length, 10);
});

test("by a person's word Loci's chat becomes like SillyTavern's", async () => {
  const server = new MemoryServer();
  const one = await tavern(server, said("one"), mine("two"), said("three"));
  const other = await tavern(server, ...reloaded(one.chat));
  other.chat[0].mes = "changed";
  other.chat.splice(1, 1, mine("new"));
  await other.follow();
  await one.mirror.sync.lookForChanges();
  await until(() => one.mirror.differing === 3);
  one.mirror.overwrite();
  await one.follow();
  equal([texts(server.messages), one.mirror.differing], [["one", "two", "three"], 0]);
});
