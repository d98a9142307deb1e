// Word of what others write: one stream of server-sent events for all tabs of a browser; where there is none, polling.
import { Transport, backoff } from "./transport.js";

const SILENCE = 40_000; // ms; the server sends a comment every 15 s
const isHidden = () => globalThis.document?.visibilityState === "hidden";

/**
 * Emits `word`, with {event, data} of the server, and `look`, when something may have been missed.
 * The tab that holds a lock reads the stream and tells the others; without locks each visible tab reads its own.
 */
export class EventFeed extends EventTarget {
  #transport;
  #options;
  #stop = new AbortController();
  #channel;
  #heard = 0;
  #timer;
  #retry;

  /** @param {import("./edits.js").SyncOptions} options */
  constructor(options) {
    super();
    this.#options = options;
    this.#transport = new Transport(options);
    const locks = options.locks === undefined ? globalThis.navigator?.locks : options.locks;
    const name = `loci-events:${options.baseUrl ?? ""}:${options.user ?? ""}`;
    if (locks && globalThis.BroadcastChannel) {
      this.#channel = new BroadcastChannel(name);
      this.#channel.onmessage = ({ data }) => this.#hear(data);
      locks.request(name, { signal: this.#stop.signal }, () => this.#lead()).catch(() => {});
    } else this.#lead();
    this.#timer = setInterval(() => this.#poll(), options.pollInterval ?? 15_000);
  }

  close() {
    this.#stop.abort();
    this.#channel?.close();
    clearInterval(this.#timer);
  }

  #poll() {
    const silent = Date.now() - this.#heard > SILENCE;
    if (silent && !isHidden()) this.dispatchEvent(new CustomEvent("look"));
  }

  #tell(word) {
    if (this.#stop.signal.aborted) return;
    this.#channel?.postMessage(word);
    this.#hear(word);
  }

  #hear(word) {
    this.#heard = word.kind === "lost" ? 0 : Date.now();
    if (word.kind === "open") this.dispatchEvent(new CustomEvent("look"));
    if (word.kind === "word") this.dispatchEvent(new CustomEvent("word", { detail: word.detail }));
  }

  async #lead() {
    const { backoff: limits = { base: 500, max: 30_000 }, random } = this.#options;
    for (let failures = 0; !this.#stop.signal.aborted;) {
      const opened = !this.#channel && isHidden() ? false : await this.#read().catch(() => false);
      failures = opened ? 1 : failures + 1;
      this.#tell({ kind: "lost" });
      await this.#pause(Math.max(opened ? this.#retry ?? 0 : 0, backoff(failures, limits, random)));
    }
  }

  /** Read the stream to its end. @returns {Promise<boolean>} whether there was one */
  async #read() {
    const stop = new AbortController();
    const end = () => stop.abort();
    this.#stop.signal.addEventListener("abort", end);
    let watch = setTimeout(end, SILENCE);
    let opened = false;
    try {
      const reply = await this.#transport.stream("events/", stop.signal);
      if (reply.status !== 200) return false;
      const parser = new EventParser((name, value) => this.#take(name, value));
      const decoder = new TextDecoder();
      for (const reader = reply.body.getReader(); ;) {
        const { done, value } = await reader.read();
        if (done) return opened;
        // What is written before the server's first words may be told to nobody: it listens from then on.
        if (!opened) this.#tell({ kind: "open" });
        opened = true;
        clearTimeout(watch);
        watch = setTimeout(end, SILENCE);
        parser.feed(decoder.decode(value, { stream: true }));
      }
    } catch {
      return opened;
    } finally {
      clearTimeout(watch);
      end();
      this.#stop.signal.removeEventListener("abort", end);
    }
  }

  #take(name, value) {
    if (name === "retry") this.#retry = Number(value) || undefined;
    else if (name === "") this.#tell({ kind: "alive" });
    else if (name === "resync") this.#tell({ kind: "open" });
    else this.#tell({ kind: "word", detail: { event: name, data: JSON.parse(value) } });
  }

  #pause(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#stop.signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); });
    });
  }
}

/** Server-sent events out of pieces of text: calls `take(name, data)`, ("", "") for a comment, ("retry", ms). */
export class EventParser {
  #rest = "";
  #name = "message";
  #data = [];
  #take;

  constructor(take) {
    this.#take = take;
  }

  /** @param {string} text */
  feed(text) {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    for (const line of lines) this.#line(line);
  }

  #line(line) {
    if (line === "") return this.#end();
    if (line.startsWith(":")) return this.#take("", "");
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
    if (field === "event") this.#name = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "retry") this.#take("retry", value);
  }

  #end() {
    const [name, data] = [this.#name, this.#data];
    [this.#name, this.#data] = ["message", []];
    if (data.length) this.#take(name, data.join("\n"));
  }
}

const feeds = new Map(); // what is shared by all that follow the same server from this page

/**
 * Follow the server's events. @param {import("./edits.js").SyncOptions} options
 * @param {(event: string, data: object) => void} onWord @param {() => void} onLook @returns {() => void} ends it
 */
export function follow(options, onWord, onLook) {
  const name = options.fetch ?? `${options.baseUrl ?? ""} ${options.user ?? ""}`;
  const shared = feeds.get(name) ?? { feed: new EventFeed(options), users: 0 };
  feeds.set(name, shared);
  shared.users += 1;
  const word = ({ detail }) => onWord(detail.event, detail.data);
  shared.feed.addEventListener("word", word);
  shared.feed.addEventListener("look", onLook);
  return () => {
    shared.feed.removeEventListener("word", word);
    shared.feed.removeEventListener("look", onLook);
    shared.users -= 1;
    if (shared.users > 0) return;
    feeds.delete(name);
    shared.feed.close();
  };
}
