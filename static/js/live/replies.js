// Replies of a model: follow the text of the one under way into its turn, and show what may be asked for.
import { follow } from "../sync/live.js";
import { headers } from "./requests.js";
import { gettext } from "../words.js";

const RECONNECT = 2000; // ms until a stream that the browser gave up is opened again
const REFRESH = 300; // ms in which changes of the chat are collected

export class Replies {
  #slot = document.getElementById("reply-slot");
  #status = document.getElementById("reply-status");
  #field = document.querySelector("#composer textarea");
  #room;
  #turns;
  #generation = ""; // id of the one that is followed
  #stream;
  #text = "";
  #prefix = "";
  #joint = ""; // between the text before and its continuation
  #html = ""; // all of it, rendered
  #asked = false; // whether this tab asked for the text of the user's next message
  #timer;

  /** @param {HTMLElement} room @param {import("./turns.js").Turns} turns */
  constructor(room, turns) {
    this.#room = room;
    this.#turns = turns;
    this.#slot.addEventListener("htmx:afterSettle", () => this.#read());
    this.#slot.addEventListener("htmx:configRequest", ({ detail }) => { this.#asked ||= detail.parameters.mode === "impersonate"; });
    this.#slot.addEventListener("click", ({ target }) => target.closest("[data-use]") && this.#use());
    document.body.addEventListener("turns", () => { this.#show(); this.#refreshSoon(); });
    const { chat } = room.dataset;
    const onWord = (event, word) => event === "reply" && word.chat === chat && this.#refreshSoon();
    follow({ user: document.body.dataset.user, headers }, onWord, () => this.#refreshSoon());
    this.#read();
  }

  /** The id of the reply that is being written, or "". */
  get written() {
    return this.#panel()?.dataset.generation ?? "";
  }

  /**
   * Ask for a reply to a message that was just stored, unless the user wants to ask for it. While another one is written,
   * the server has it follow, unless that is stopped. @param {string} during what was being written when it was sent
   */
  answer(during) {
    const panel = this.#panel();
    if (panel && "atOnce" in panel.dataset) this.#ask("reply", { sent: "1", during });
  }

  /** Whether the turn is the user's last one, so that it can be answered again. @param {HTMLElement} turn */
  canAnswerAgain(turn) {
    return this.#panel()?.dataset.turn === turn.dataset.id;
  }

  /** Ask for another reply to the user's last turn, which was edited. @param {HTMLElement} turn */
  answerAgain(turn) {
    if (this.canAnswerAgain(turn)) this.#ask(this.#panel().dataset.again);
  }

  #ask(mode, more = {}) {
    const panel = this.#panel();
    // Not from the slot, which asks for its state: of the requests that wait in one element only the last is sent.
    const values = { mode, ...more };
    for (const select of panel.querySelectorAll("select")) values[select.name] = select.value;
    window.htmx.ajax("POST", panel.dataset.url, { source: this.#status, target: this.#slot, swap: "innerHTML", values });
  }

  #panel() {
    return this.#slot.querySelector(".replies");
  }

  #refreshSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#slot.contains(document.activeElement) && document.activeElement.matches("select") || window.htmx.trigger(this.#slot, "refresh"), REFRESH);
  }

  /** Follow what the panel names. */
  #read() {
    const panel = this.#panel();
    if (!panel) return;
    const use = panel.querySelector("[data-use]");
    if (use) use.hidden = false;
    if (use && this.#asked && !this.#field.value.trim()) this.#use();
    if (use) this.#asked = false;
    this.#hideUsed();
    this.#say(panel);
    const { generation = "", prefix = "" } = panel.dataset;
    if (generation !== this.#generation) this.#follow(generation, prefix);
    this.#show();
  }

  #say(panel) {
    const words = panel.querySelector("[data-words]")?.textContent.replace(/\s+/g, " ").trim() ?? "";
    const said = words || (panel.dataset.state === "succeeded" && this.#generation ? gettext("The reply is complete.") : "");
    if (said && this.#status.textContent !== said) this.#status.textContent = said;
  }

  #follow(generation, prefix) {
    this.#stream?.close();
    [this.#generation, this.#prefix, this.#joint, this.#text, this.#html] = [generation, prefix, "", "", ""];
    if (!generation) return;
    const stream = new EventSource(`/api/v1/generations/${generation}/events/?html`);
    this.#stream = stream;
    stream.addEventListener("delta", ({ data }) => this.#add(JSON.parse(data)));
    stream.addEventListener("done", () => this.#end(stream));
    stream.addEventListener("error", (event) => {
      // The server's event of this name has data. Without, the browser lost the stream, and opens it again, unless it was
      // refused.
      if ("data" in event) return this.#end(stream);
      if (stream.readyState !== EventSource.CLOSED || stream !== this.#stream) return;
      setTimeout(() => stream === this.#stream && this.#follow(generation, prefix), RECONNECT);
    });
  }

  #add({ text, joint = "", html }) {
    this.#text += text;
    this.#joint = joint;
    this.#html = html;
    this.#show();
  }

  #end(stream) {
    stream.close();
    this.#refreshSoon();
  }

  /** Show the text so far in its turn, or above the composer while it has none. */
  #show() {
    const panel = this.#panel();
    this.#mark();
    if (!this.#generation || !this.#text || !panel) return;
    const draft = panel.querySelector("[data-draft]");
    const words = panel.querySelector("[data-writing]");
    if (words && words.textContent !== words.dataset.writing) {
      words.textContent = words.dataset.writing;
      this.#say(panel);
    }
    const turn = this.#room.querySelector(`.turn[data-generation="${this.#generation}"]`);
    const text = this.#prefix + this.#joint + this.#text;
    // What the server has rendered is shorter than its text: marks such as asterisks are not in it.
    if (turn && storedText(turn).length < text.length) this.#turns.showText(turn.querySelector(".prose"), this.#html);
    if (!draft || panel.dataset.mode !== "impersonate") return;
    [draft.hidden, draft.textContent] = [false, this.#text];
  }

  /** Say of the reply that is followed that it is being written; of others, that they ended without being whole. */
  #mark() {
    for (const badge of this.#room.querySelectorAll(".badge[data-partial]")) {
      const isWritten = this.#generation && badge.closest(".turn").dataset.generation === this.#generation;
      badge.textContent = isWritten ? badge.dataset.writing : badge.dataset.partial;
    }
  }

  /** Put the text written for the user into the composer. */
  #use() {
    const text = this.#panel().querySelector("[data-written]").textContent;
    this.#field.value = [this.#field.value.trim(), text].filter(Boolean).join("\n\n");
    this.#field.dispatchEvent(new Event("input", { bubbles: true }));
    this.#field.focus({ preventScroll: true });
    this.#hideUsed();
  }

  /** Don't show a text above the composer that stands in it. */
  #hideUsed() {
    const written = this.#panel().querySelector("[data-written]");
    if (written) written.closest(".replies-draft").hidden = this.#field.value.includes(written.textContent.trim());
  }
}

/** The text of a turn as the page got it. */
const storedText = (turn) => JSON.parse(turn.querySelector(":scope > script").textContent).mes;
