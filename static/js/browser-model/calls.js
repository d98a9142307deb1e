// Run calls of the person's model: take them from the server, one at a time, and post the replies.
const API = "/api/v1/browser-calls/";
const MAX_CHARACTERS = 200_000; // of a reply; the server keeps no more
const PROGRESS_MS = 1000; // between two posts of the text so far
const OFFLINE_MS = 5000; // without a stream after which the person is told; the server ends streams now and then
const SILENT_MS = 20_000; // without a beat, of which the server sends one each 5 s: a connection that died in the machine's sleep
const REOPEN_MS = 5000; // until a stream that was refused is asked for again
const RETRY_MS = [500, 1000, 2000, 5000]; // waits before a request is repeated; the last one holds on

/** Return a new id for this page. `crypto.randomUUID` exists under https only. @returns {string} */
function newPageId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Return the CSRF header. Read the cookie each time, since signing in elsewhere changes it. @returns {object} */
function headers() {
  const [, token = ""] = /(?:^|; )csrftoken=([^;]*)/.exec(document.cookie) ?? [];
  return { "Content-Type": "application/json", "X-CSRFToken": token };
}

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/**
 * Runs calls by `run(request, { signal, progress })`, which returns the reply: a text, or an object with `text` and, if
 * known, `prompt_tokens`, `completion_tokens` and `cut_off`. An error whose `refused` is true means that the same call
 * would fail again. Sends `state` events, whose `detail` is `waiting`, `writing`, `offline` or `signed-out`.
 */
export class CallRunner extends EventTarget {
  constructor(run) {
    super();
    this.run = run;
    this.page = newPageId();
    this.replies = 0;
    this.isTaking = false;
    this.current = null;
  }

  start() {
    this.#open();
    this.watch = setInterval(() => { if (Date.now() - this.heardAt > SILENT_MS) this.#open(); }, SILENT_MS / 2);
  }

  stop() {
    this.isStopped = true;
    clearInterval(this.watch);
    this.source.close();
    this.current?.controller.abort();
  }

  #open() {
    if (this.isStopped) return;
    this.source?.close();
    this.source = new EventSource(`${API}events/?page=${this.page}`);
    this.heardAt = Date.now();
    const on = (event, action) => this.source.addEventListener(event, () => { this.heardAt = Date.now(); action(); });
    on("open", () => this.#tell(this.current ? "writing" : "waiting"));
    on("error", () => this.#lose());
    on("call", () => this.#take());
    // The server's beats keep the call: a browser slows down the timers of a page in the background.
    on("beat", () => this.#postProgress());
  }

  #lose() {
    const { source } = this;
    setTimeout(() => { if (source === this.source && source.readyState !== EventSource.OPEN) this.#tell("offline"); }, OFFLINE_MS);
    if (source.readyState !== EventSource.CLOSED) return; // the browser opens it again
    setTimeout(() => { if (source === this.source) this.#open(); }, REOPEN_MS);
    this.#take(); // an event source does not say why it was refused; this does
  }

  #signOut() {
    this.#tell("signed-out");
    this.stop();
  }

  #tell(state) {
    if (!this.isStopped) this.dispatchEvent(new CustomEvent("state", { detail: state }));
  }

  async #take() {
    if (this.isTaking) return;
    this.isTaking = true;
    try {
      while (!this.isStopped) {
        const response = await this.#post("claim/", {});
        if (response?.status !== 200) break;
        await this.#work(await response.json());
      }
    } finally {
      this.isTaking = false;
    }
  }

  async #work(call) {
    const controller = new AbortController();
    const current = { id: call.id, controller, text: undefined, postedAt: 0 };
    this.current = current;
    this.#tell("writing");
    const end = await this.#endOf(call, current);
    if (!controller.signal.aborted) await this.#deliver(call.id, end);
    this.current = null;
    this.#tell("waiting");
  }

  /** Return the body that ends a call: the reply or the error. Nothing once the call is no longer ours. */
  async #endOf({ id: _, ...request }, current) {
    const { signal } = current.controller;
    const aborted = new Promise((resolve) => { signal.addEventListener("abort", () => resolve("")); });
    const progress = (text) => {
      current.text = String(text).slice(0, MAX_CHARACTERS);
      if (Date.now() - current.postedAt >= PROGRESS_MS) this.#postProgress();
    };
    try {
      // A function that ignores the signal must not keep the next call waiting.
      const reply = await Promise.race([this.run(request, { signal, progress }), aborted]);
      const { text, prompt_tokens, completion_tokens, cut_off } = typeof reply === "object" ? reply : { text: reply };
      return { text: String(text ?? "").slice(0, MAX_CHARACTERS), prompt_tokens, completion_tokens, cut_off };
    } catch (error) {
      return { error: String(error?.message || error || "It gave no reason."), refused: error?.refused === true };
    }
  }

  async #postProgress() {
    const { current } = this;
    if (!current || current.isPosting) return;
    Object.assign(current, { isPosting: true, postedAt: Date.now() });
    const response = await this.#send(`${current.id}/progress/`, { text: current.text }).catch(() => null);
    current.isPosting = false;
    if (response?.status === 404 || response?.status === 409) current.controller.abort();
  }

  async #deliver(id, body) {
    const response = await this.#post(`${id}/reply/`, body);
    if (response?.ok) this.replies += 1;
    // What the server does not understand is told instead, so that nobody waits for it.
    else if (response?.status === 400) await this.#post(`${id}/reply/`, { error: "The reply has an unknown form." });
  }

  /** Post until the server answers. Return null once the runner has stopped. */
  async #post(path, body) {
    for (let tried = 0; !this.isStopped; tried += 1) {
      const response = await this.#send(path, body).catch(() => null);
      if (response && response.status < 500 && response.status !== 429) return response;
      await pause(RETRY_MS[Math.min(tried, RETRY_MS.length - 1)]);
    }
    return null;
  }

  async #send(path, body) {
    const content = JSON.stringify({ page: this.page, ...body });
    const response = await fetch(`${API}${path}`, { method: "POST", headers: headers(), body: content });
    if (response.status === 401 || response.status === 403) this.#signOut();
    return response;
  }
}
