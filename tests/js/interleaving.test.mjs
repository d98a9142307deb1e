import { ChatSync, MemoryStorage } from "../../static/js/sync-client.js";
import { equal, pause, seeded, test } from "./harness.mjs";
import { MemoryLocks } from "./locks.mjs";
import { MemoryServer } from "./server.mjs";

const STEPS = 60;
const SEEDS = 30;

/** Several people at one chat over a bad network. Each writes words that nobody else writes. */
class Play {
  constructor(seed) {
    this.random = seeded(seed);
    this.server = new MemoryServer("the first message", "a second one", "and the third 😀 of them");
    this.words = []; // written into texts
    this.appended = [];
    this.given = new Set(); // words of what somebody deleted, or gave up
    this.count = 0;
    this.fair = false;
    this.server.weather = () => this.weather();
  }

  pick(list) { return list[Math.floor(this.random() * list.length)]; }

  weather() {
    if (this.fair) return "fine";
    const kinds = ["fine", "fine", "fine", "late", "lost", "away", { status: 503 }, { status: 429, headers: { "Retry-After": "0" } }];
    return this.pick(kinds);
  }

  async open(device) {
    const sync = new ChatSync({
      ...device, chatId: this.server.chat.id, fetch: this.server.fetch, debounce: this.random() * 10,
      live: this.random() < 0.5, pollInterval: 20, backoff: { base: 1, max: 4 }, random: this.random,
    });
    sync.addEventListener("conflict", ({ detail }) => this.decide(detail));
    sync.addEventListener("refused", ({ detail }) => { throw new Error(`refused: ${JSON.stringify(detail.problem)}`); });
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

  write(text) {
    const words = text.split(" ");
    this.words.push(this.word());
    words.splice(Math.floor(this.random() * (words.length + 1)), 0, this.words.at(-1));
    return words.join(" ");
  }

  step(sync) {
    const list = sync.messages.filter(({ id }) => id);
    const message = list.length ? this.pick(list) : null;
    const kind = message ? this.random() : 0;
    if (kind < 0.2) {
      const mes = this.word();
      this.appended.push(mes);
      sync.append({ mes });
    } else if (kind < 0.6) sync.edit(message.id, { mes: this.write(message.mes) });
    else if (kind < 0.65) sync.edit(message.id, { is_system: !message.is_system });
    else if (kind < 0.7) sync.editExtra(message.id, { recap: { [this.word()]: true } });
    else if (kind < 0.75) sync.editMetadata({ [this.pick(["a", "b"])]: { [this.word()]: 1 } });
    else if (kind < 0.8) sync.move(message.id, { before: this.pick([...list.map(({ id }) => id), null]) });
    else if (kind < 0.84) {
      const mes = this.word();
      this.appended.push(mes);
      sync.insert(message.id, { mes });
    } else if (kind < 0.88) {
      const mes = this.word();
      this.words.push(mes);
      sync.addSwipe(message.id, { mes });
    } else if (kind < 0.92) sync.selectSwipe(message.id, Math.floor(this.random() * message.swipes.length));
    else if (kind < 0.94) sync.orderSwipes(message.id, message.swipes.map((_, n) => n).reverse());
    else if (kind < 0.97) sync.edit(message.id, { name: this.word() });
    else if (kind < 0.99 && message.swipes.length > 1) {
      this.give(message.swipes[0]);
      sync.deleteSwipe(message.id, 0);
    } else {
      this.give(message.swipes.join(" "));
      sync.delete(message.id);
    }
  }

  async run() {
    const devices = Array.from({ length: 3 }, () => ({ storage: new MemoryStorage(), locks: new MemoryLocks() }));
    devices.push(devices[0]); // two tabs of one browser
    const clients = await Promise.all(devices.map((device) => this.open(device)));
    for (let n = 0; n < STEPS; n += 1) {
      const who = Math.floor(this.random() * clients.length);
      if (this.random() < 0.04) {
        // The page is gone, and comes back.
        await clients[who].close();
        clients[who] = await this.open(devices[who]);
      } else this.step(clients[who]);
      if (this.random() < 0.5) await pause(this.random() * 6);
    }
    this.fair = true;
    await this.settle(clients);
    await this.check(clients, devices);
  }

  async settle(clients) {
    for (let n = 0; n < 400; n += 1) {
      await Promise.all(clients.map((sync) => sync.flush()));
      await pause(3);
      if (clients.every((sync) => sync.pending === 0)) break;
    }
    await Promise.all(clients.map((sync) => sync.lookForChanges()));
  }

  async check(clients, devices) {
    const { messages, chat } = this.server;
    for (const sync of clients) {
      equal(sync.pending, 0, "unsent edits:");
      equal(sync.messages, messages.slice(sync.from, sync.from + sync.messages.length), "a client's messages:");
      equal([sync.total, sync.metadata, sync.state], [messages.length, chat.metadata, { integrity: chat.integrity, rev: chat.rev }]);
      await sync.close();
    }
    for (const { storage } of devices) equal(await storage.names(""), [], "left in storage:");
    const stored = messages.flatMap(({ swipes }) => swipes.join(" ").match(/w\d+/g) ?? []);
    equal(stored.length, new Set(stored).size, "words stored twice:");
    const lost = [...this.words, ...this.appended].filter((word) => !stored.includes(word) && !this.given.has(word));
    equal(lost, [], "words lost:");
  }
}

for (let seed = 1; seed <= SEEDS; seed += 1) {
  test(`several clients over a bad network end equal to the server, seed ${seed}`, () => new Play(seed).run());
}
