// Requests to the server, and how long to wait before one is tried again.

const TIMEOUT = 30_000; // ms
const KEEPALIVE_MAX = 60_000; // bytes; browsers refuse more than 64 KiB of bodies that outlive their page

/** @returns {string} a random UUID, also where a page is not a secure context */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export class Transport {
  #base;
  #fetch;
  #headers;
  #timeout;
  #open = new Set();

  /** @param {import("./edits.js").SyncOptions} options */
  constructor({ baseUrl = "/api/v1/", fetch = globalThis.fetch.bind(globalThis), headers = {}, timeout = TIMEOUT }) {
    this.#base = baseUrl.endsWith("/") ? baseUrl : `${baseUrl}/`;
    this.#fetch = fetch;
    this.#headers = headers;
    this.#timeout = timeout;
  }

  /**
   * One request. Rejects where no whole reply came; its `wait` is then undefined, as with 5xx and 429 without Retry-After.
   * @param {string} method @param {string} path below the base
   * @param {{body?: string, key?: string, keepalive?: boolean}} [options] body: JSON; key: the Idempotency-Key
   * @returns {Promise<{status: number, body: any, wait: number | undefined, again: boolean}>} `again`: worth a retry
   */
  async request(method, path, { body, key, keepalive = false } = {}) {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), this.#timeout);
    this.#open.add(stop);
    try {
      const reply = await this.#fetch(this.#base + path, {
        method,
        body,
        signal: stop.signal,
        headers: await this.#headersFor(body, key),
        keepalive: keepalive && new TextEncoder().encode(body ?? "").length < KEEPALIVE_MAX,
      });
      return {
        status: reply.status,
        body: parse(await reply.text()),
        wait: retryAfter(reply.headers.get("Retry-After")),
        again: reply.status >= 500 || [408, 425, 429].includes(reply.status),
      };
    } finally {
      clearTimeout(timer);
      this.#open.delete(stop);
    }
  }

  /** As `request`, but throws a Delay where that is to be tried again. */
  async ask(method, path, options) {
    const reply = await this.request(method, path, options).catch(() => null);
    if (reply === null || reply.again) throw new Delay(reply?.wait);
    return reply;
  }

  /** Give up all requests under way. */
  abort() {
    for (const stop of this.#open) stop.abort();
  }

  /**
   * A reply to be read as it comes. @param {string} path @param {AbortSignal} [signal]
   * @param {string} [accept] the media type @returns {Promise<Response>}
   */
  async stream(path, signal, accept = "text/event-stream") {
    const headers = { ...(await this.#headersFor()), Accept: accept };
    return this.#fetch(this.#base + path, { headers, signal, cache: "no-store" });
  }

  async #headersFor(body, key) {
    const own = typeof this.#headers === "function" ? this.#headers() : this.#headers;
    return {
      Accept: "application/json",
      // Only a promise is waited for: a page that is being left has no time for more.
      ...(own instanceof Promise ? await own : own),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(key === undefined ? {} : { "Idempotency-Key": key }),
    };
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Milliseconds from a Retry-After header: seconds or a date. @returns {number | undefined} */
export function retryAfter(header, now = Date.now()) {
  if (!header) return undefined;
  const wait = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}

/**
 * Milliseconds to wait after the given number of failures: exponential, of which a random half.
 * @param {number} failures 1 or more @param {{base: number, max: number}} limits @param {() => number} random
 */
export function backoff(failures, { base, max }, random = Math.random) {
  const most = Math.min(max, base * 2 ** (failures - 1));
  return most / 2 + (random() * most) / 2;
}

/** Thrown where something has to be tried again: after `ms`, or after a backoff. */
export class Delay extends Error {
  constructor(ms) {
    super("try again");
    this.ms = ms;
  }
}
