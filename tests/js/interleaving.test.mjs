import { equal, test } from "./harness.mjs";
import { BEGINNING, Play } from "./play.mjs";
import { MemoryServer } from "./server.mjs";

const AT_A_TIME = 10; // most of a play is waiting

/** At every moment a client that is of the server's state has the server's messages. */
class WatchedPlay extends Play {
  async open(device) {
    const sync = await super.open(device);
    for (const event of ["saved", "changed"]) sync.addEventListener(event, () => queueMicrotask(() => this.watch(sync)));
    return sync;
  }

  watch(sync) {
    if (sync.closed || sync.state?.integrity !== this.server.state.integrity) return;
    if (sync.edits.some(({ state }) => state === "stored")) return; // of which the client waits for the changes
    const stored = new Map(this.server.messages.map((message) => [message.id, message]));
    try {
      for (const message of sync.replica.messages.filter(({ id }) => stored.has(id))) {
        equal(told(message), told(stored.get(message.id)), "a message of the server's state:");
      }
    } catch (error) {
      this.different ??= error;
    }
  }

  async check(...args) {
    await super.check(...args);
    if (this.different) throw this.different;
  }
}

const told = ({ id, rev, swipe_id, swipes, mes }) => ({ id, rev, swipe_id, swipes, mes });

async function play(seed) {
  await new WatchedPlay(new MemoryServer(...BEGINNING), seed, { steps: 60 }).run().catch((error) => {
    throw new Error(`seed ${seed}: ${error.stack ?? JSON.stringify(error)}`);
  });
}

for (let first = 1; first <= 30; first += AT_A_TIME) {
  const seeds = Array.from({ length: AT_A_TIME }, (_, n) => first + n);
  test(`several clients over a bad network end equal to the server, seeds from ${first}`, async () => {
    await Promise.all(seeds.map(play));
  });
}
