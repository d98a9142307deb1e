// A chat of a running server behind a bad network, for `Play`.
import { pause } from "./harness.mjs";
import { watchUndo } from "./play.mjs";

const API = "/api/v1/";

export class RealServer {
  chat;
  weather = () => "fine";
  undone = () => {};
  #headers;
  #held = [];
  #turn = Promise.resolve();

  /** @param {string} token @param {(days: number) => Promise<void>} passDays moves the server's clock */
  constructor(token, passDays) {
    this.#headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    this.passDays = passDays;
  }

  /** @param {string[]} texts of the messages of a new chat */
  async begin(texts) {
    this.chat = await this.#ask("chats/", { title: "Play" });
    await this.#ask(`chats/${this.chat.id}/append/`, { messages: texts.map((mes) => ({ mes })) });
    return this;
  }

  async #ask(path, body) {
    const options = body ? { method: "POST", body: JSON.stringify(body) } : {};
    const reply = await fetch(API + path, { ...options, headers: this.#headers });
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    return reply.json();
  }

  get state() { return this.#ask(`chats/${this.chat.id}/`); }

  get messages() { return this.#ask(`chats/${this.chat.id}/messages/?limit=200`).then(({ results }) => results); }

  fetch = async (url, options = {}) => {
    const weather = this.weather();
    if (weather === "late") await pause(3);
    if (weather === "away" || options.signal?.aborted) throw new TypeError("the network is away");
    if (typeof weather === "object") return new Response("{}", weather);
    if (weather === "held") {
      this.#held.push([url, options]);
      if (this.#held.length > 3) await this.#send(...this.#held.shift());
      throw new TypeError("the request is on its way");
    }
    const reply = await this.#send(url, options);
    if (weather === "lost" || options.signal?.aborted) throw new TypeError("the reply is lost");
    return reply;
  };

  /** Send what is still on its way. */
  async deliver() {
    for (const [url, options] of this.#held.splice(0)) await this.#send(url, options);
  }

  /** One request after the other, so that it is known what an undo took back. */
  #send(url, { method, body, headers }) {
    const send = () => fetch(url, { method, body, headers: { ...headers, ...this.#headers } });
    const reply = this.#turn.then(() => (url.endsWith("/undo/") ? watchUndo(this, send) : send()));
    this.#turn = reply.catch(() => {});
    return reply;
  }
}
