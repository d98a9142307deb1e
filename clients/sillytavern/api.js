// Requests to Loci beside the sync client's, and what to tell where they fail.
import { Calls } from "./sync-client.js";
import { Transport, newKey } from "./sync/transport.js";

export const VERSION = "1.0.0";
const LIMIT = 200; // objects in a page of a list
const QUICK = 8_000; // ms

/** A reply that isn't what was asked for: `status` 0 where there was none. */
export class Refusal extends Error {
  /** @param {number} status @param {object | null} [problem] */
  constructor(status, problem = null) {
    super(problem?.detail ?? problem?.title ?? `Loci answered with status ${status}.`);
    this.status = status;
    this.problem = problem;
  }
}

export class Api {
  #quick;

  /** @param {{url: string, token: string}} settings */
  constructor({ url, token }) {
    this.url = url;
    this.options = { baseUrl: `${url}/api/v1/`, user: url, headers: { Authorization: `Bearer ${token}` } };
    this.#quick = new Transport({ ...this.options, timeout: QUICK });
    this.calls = new Calls({ ...this.options, timeout: QUICK });
  }

  /** One request, made once. @returns {Promise<any>} the reply's body; rejects with a Refusal */
  async ask(method, path, body, key = newKey()) {
    const options = body === undefined ? {} : { body: JSON.stringify(body), key };
    const reply = await this.#quick.request(method, path, options).catch(() => null);
    if (!reply) throw new Refusal(0);
    if (reply.status >= 300) throw new Refusal(reply.status, reply.body);
    return reply.body;
  }

  /** All objects of a list. @param {string} path @param {object} [filter] */
  async all(path, filter = {}) {
    const results = [];
    for (let query = new URLSearchParams({ ...filter, limit: String(LIMIT) }); query;) {
      const page = await this.ask("GET", `${path}?${query}`);
      results.push(...page.results);
      query = page.next ? new URL(page.next, "http://localhost").searchParams : null;
    }
    return results;
  }

  /**
   * Whether Loci can be used. @returns {Promise<{ok: boolean, isOffline?: boolean, text: string}>} text for a person
   */
  async check() {
    try {
      const { version } = await this.ask("GET", "clients/sillytavern/");
      const hint = isNewer(version, VERSION) ? ` Loci has version ${version} of this extension; this is ${VERSION}.` : "";
      return { ok: true, text: `Connected.${hint}` };
    } catch (refusal) {
      return { ok: false, ...(await this.#explained(refusal)) };
    }
  }

  async #explained({ status, message }) {
    switch (status) {
      case 0: return this.#unreachable();
      case 401: return { text: "Loci doesn't know this token. Make one in Loci: Settings, API tokens." };
      case 403: return { text: "The token may not be used for this. It needs write access." };
      case 404: return { text: "This Loci is older than the extension, or something else answers there. Update Loci, or install the extension that it serves." };
      default: return { isOffline: status >= 500 || status === 429, text: message };
    }
  }

  /** No reply can be read: nobody is there, or the browser keeps it from this page. */
  async #unreachable() {
    const { origin, protocol } = globalThis.location ?? {};
    if (protocol === "https:" && this.url.startsWith("http:") && !/^http:\/\/(localhost|127\.0\.0\.1)[:/]?/.test(this.url)) {
      return { isOffline: true, text: "A page with https can't reach a Loci with http. Serve Loci with https." };
    }
    const isThere = await fetch(`${this.url}/healthz/`, { mode: "no-cors", cache: "no-store", signal: AbortSignal.timeout(QUICK) })
      .then(() => true, () => false);
    if (!isThere) return { isOffline: true, text: `Nothing answers at ${this.url}. What you write is sent once Loci is there.` };
    return { isOffline: true, text: `Loci is there, but doesn't let this page in (CORS). Start Loci with CORS_ORIGINS=${origin}` };
  }
}

/** @param {string} version @param {string} than both as 1.2.3 */
function isNewer(version, than) {
  const [a, b] = [version, than].map((text) => String(text).split(".").map(Number));
  const at = a.findIndex((number, n) => number !== b[n]);
  return at >= 0 && a[at] > (b[at] ?? 0);
}
