// Random writes of several clients to one chat over a bad network, and what has to hold at the end.
import { ChatSync, MemoryStorage } from "../../static/js/sync-client.js";
import { equal, pause, seeded } from "./harness.mjs";
import { MemoryLocks } from "./locks.mjs";

export const BEGINNING = ["the first message", "a second one", "and the third 😀 of them"];

const WEATHER = [
  "fine", "fine", "fine", "late", "lost", "away", "held", { status: 503 }, { status: 429, headers: { "Retry-After": "0" } },
];

/**
 * Several people at one chat. Each writes words that nobody else writes.
 * `server` has `chat.id`, `fetch`, `weather`, `messages`, `state`, `passDays()` and `deliver()`, as MemoryServer.
 */
export class Play {
  constructor(server, seed, { steps, live = true }) {
    this.random = seeded(seed);
    this.server = server;
    this.steps = steps;
    this.live = live;
    this.words = []; // written into texts
    this.given = new Set(); // words of what somebody deleted, undid, or gave up
    this.count = 0;
    this.fair = false;
    this.opened = [];
    this.undoing = []; // is not pending, and asked for until the server answers
    server.weather = () => (this.fair ? "fine" : this.pick(WEATHER));
    server.undone = (text) => this.give(text);
  }

  pick(list) { return list[Math.floor(this.random() * list.length)]; }

  async open(device) {
    const sync = new ChatSync({
      ...device, chatId: this.server.chat.id, fetch: this.server.fetch, debounce: this.random() * 10,
      live: this.live && this.random() < 0.5, pollInterval: 20, backoff: { base: 1, max: 4 }, random: this.random,
    });
    sync.addEventListener("conflict", ({ detail }) => this.decide(detail));
    sync.addEventListener("refused", ({ detail }) => { this.refused = detail; });
    await sync.open();
    await sync.load(this.random() < 0.7 ? { from: 0, limit: Infinity } : { from: -3, limit: 5 });
    return sync;
  }

  /** A person keeps all words of both, and gives up what belongs to something deleted. */
  decide({ mine, theirs, edit, field, resolve, discard }) {
    setTimeout(() => {
      if (edit.gone || field === "delete") {
        this.give(JSON.stringify(mine ?? ""));
        return discard();
      }
      if (typeof mine !== "string" || typeof theirs !== "string") return resolve(mine);
      const more = mine.split(" ").filter((word) => !theirs.split(" ").includes(word));
      return resolve([theirs, ...more].join(" "));
    }, this.random() * 10);
  }

  give(text) {
    for (const word of text.match(/w\d+/g) ?? []) this.given.add(word);
  }

  word() {
    this.count += 1;
    return `w${this.count}`;
  }

  /** A new word that has to be in a text at the end. */
  newWord() {
    this.words.push(this.word());
    return this.words.at(-1);
  }

  write(text) {
    const words = text.split(" ");
    words.splice(Math.floor(this.random() * (words.length + 1)), 0, this.newWord());
    return words.join(" ");
  }

  step(sync) {
    const list = sync.messages.filter(({ id }) => id);
    const message = list.length ? this.pick(list) : null;
    const kind = message ? this.random() : 0;
    if (kind < 0.15) sync.append({ mes: this.newWord() });
    else if (kind < 0.5) sync.edit(message.id, { mes: this.write(message.mes) });
    else if (kind < 0.55) sync.edit(message.id, { is_system: !message.is_system });
    else if (kind < 0.6) sync.editExtra(message.id, { recap: { [this.word()]: true } });
    else if (kind < 0.63) sync.editData(message.id, "notes", { [this.pick("ab")]: null, [this.word()]: 1 }, { clear: ["c"] });
    else if (kind < 0.66) sync.editMetadata({ [this.pick(["a", "b"])]: { [this.word()]: 1 } });
    else if (kind < 0.7) sync.move(message.id, { before: this.pick([...list.map(({ id }) => id), null]) });
    else if (kind < 0.76) sync.insert(message.id, { mes: this.newWord() });
    else if (kind < 0.82) sync.addSwipe(message.id, { mes: this.newWord() });
    else if (kind < 0.85) sync.selectSwipe(message.id, Math.floor(this.random() * message.swipes.length));
    else if (kind < 0.87) sync.orderSwipes(message.id, message.swipes.map((_, n) => n).reverse());
    else if (kind < 0.89) sync.edit(message.id, { name: this.word() });
    else if (kind < 0.92) this.undoing.push(sync.undo().catch(() => {})); // whose reply is lost
    else if (kind < 0.94) sync.lookForChanges();
    else if (kind < 0.97 && message.swipes.length > 1) {
      this.give(message.swipes[0]);
      sync.deleteSwipe(message.id, 0);
    } else this.delete(sync, message);
  }

  /** Another client may delete the same at the same time. */
  delete(sync, message) {
    for (const one of new Set([sync, this.pick(this.opened)])) {
      const known = one.messages.find(({ id }) => id === message.id);
      if (!known) continue;
      this.give(known.swipes.join(" "));
      one.delete(message.id);
    }
  }

  async run() {
    const devices = Array.from({ length: 3 }, () => ({ storage: new MemoryStorage(), locks: new MemoryLocks() }));
    devices.push(devices[0]); // two tabs of one browser
    const clients = await Promise.all(devices.map((device) => this.open(device)));
    this.opened = clients;
    for (let n = 0; n < this.steps; n += 1) {
      const who = Math.floor(this.random() * clients.length);
      const what = this.random();
      if (what < 0.04) {
        // The page is gone, and comes back.
        await clients[who].close();
        clients[who] = await this.open(devices[who]);
      } else if (what < 0.07) await this.server.passDays(this.pick([2, 40]));
      else this.step(clients[who]);
      if (this.random() < 0.5) await pause(this.random() * 6);
    }
    this.fair = true;
    await this.settle(clients);
    await this.server.deliver();
    await Promise.all(clients.map((sync) => sync.lookForChanges()));
    await this.check(clients, devices);
  }

  async settle(clients) {
    for (let n = 0; n < 400; n += 1) {
      await Promise.all(clients.map((sync) => sync.flush()));
      await pause(3);
      if (clients.every((sync) => sync.pending === 0)) break;
    }
    await Promise.all(this.undoing);
    await Promise.all(clients.map((sync) => sync.lookForChanges()));
  }

  async check(clients, devices) {
    const [messages, { integrity, rev, metadata }] = [await this.server.messages, await this.server.state];
    equal(this.refused?.problem, undefined, "refused:");
    for (const sync of clients) {
      equal(sync.pending, 0, "unsent edits:");
      const shown = messages.slice(sync.from, sync.from + sync.messages.length);
      equal(sync.messages.map(withoutTimes), shown.map(withoutTimes), "a client's messages:");
      equal([sync.total, sync.metadata, sync.state], [messages.length, metadata, { integrity, rev }]);
      await sync.close();
    }
    for (const { storage } of devices) equal(await storage.names(""), [], "left in storage:");
    const tokens = messages.flatMap(({ swipes }) => swipes.flatMap((text) => text.split(" ")));
    const known = new Set([...this.words, ...BEGINNING.join(" ").split(" "), ""]);
    equal(tokens.filter((token) => !known.has(token)), [], "garbled:");
    const stored = tokens.filter((token) => /^w\d+$/.test(token));
    equal(stored.filter((word, at) => stored.indexOf(word) !== at), [], "words stored twice:");
    equal(this.words.filter((word) => !stored.includes(word) && !this.given.has(word)), [], "words lost:");
  }
}

/** Call `undone` with the texts that a write took back. */
export async function watchUndo(server, write) {
  const before = textsOf(await server.messages);
  const reply = await write();
  const left = new Set(textsOf(await server.messages).join(" ").split(" "));
  server.undone(before.join(" ").split(" ").filter((word) => !left.has(word)).join(" "));
  return reply;
}

/** The server alone knows when it was. */
const withoutTimes = (message) => ({ ...message, updated_at: null });

const textsOf = (messages) => messages.flatMap(({ swipes }) => swipes);
