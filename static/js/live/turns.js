// The turns on the page, kept as they are on the server, without disturbing who reads or writes.
import { fetchPart } from "./requests.js";

const FEW = 8; // turns that are fetched one by one
const NEAR_END = 120; // px

const list = document.getElementById("messages");
const scroller = document.getElementById("scroller");
const unsent = document.getElementById("unsent");
const pill = document.getElementById("new-below");
const blank = document.getElementById("unsent-template");

const shown = () => [...list.querySelectorAll(".turn[data-id]")];
const tail = () => document.getElementById("tail");
const showsEnd = () => !tail().querySelector("[data-near]");
const endOfShown = () => Number(tail().querySelector("[name=next]").value);
const atEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_END;
const toEnd = () => { scroller.scrollTop = scroller.scrollHeight; };
const isBusy = (turn) => turn.querySelector(".editor, textarea:focus, input:focus") !== null;
const isSame = (a, b) => a.dataset.rev === b.dataset.rev && a.dataset.index === b.dataset.index;

export class Turns {
  onShown = () => {};
  #sync;
  #url;
  #wanted = { ids: new Set(), end: false, all: false };
  #running = false;
  #below = 0;
  #own = new Set(); // ids of what was written here

  /** @param {import("../sync-client.js").ChatSync} sync @param {string} url of the chat's page */
  constructor(sync, url) {
    this.#sync = sync;
    this.#url = url;
    this.#track(shown());
    // Windows come by scrolling, and the tools of a message put it back by themselves.
    document.body.addEventListener("htmx:afterSwap", () => { this.#track(shown()); this.layOver(); });
    pill.addEventListener("click", () => (showsEnd() ? toEnd() : location.assign(this.#url)));
    scroller.addEventListener("scroll", () => atEnd() && this.#count(0), { passive: true });
    this.layOver();
  }

  /** The element of a message, if it is on the page. @param {string} id */
  of(id) {
    return list.querySelector(`.turn[data-id="${CSS.escape(id)}"]`);
  }

  /** Others have written, or the server has completed what was written here. */
  changed({ messages, deleted, reload }) {
    for (const message of messages) this.#changedOne(message);
    for (const id of deleted) if (this.of(id)) this.#wanted.all = true;
    if (reload || deleted.length) this.#wanted.all = true;
    this.#refresh();
  }

  #changedOne({ id, index, rev }) {
    const turn = id && this.of(id);
    if (turn && Number(turn.dataset.index) !== index) this.#wanted.all = true;
    else if (turn && Number(turn.dataset.rev) !== rev) this.#wanted.ids.add(id);
    else if (!turn && index >= endOfShown()) this.#wanted.end = true;
    else if (!turn) this.#wanted.all = true;
  }

  /** Own edits have arrived. */
  saved(edits) {
    for (const { type, id } of edits) {
      if (type === "append" || type === "insert") this.#wanted.end = true;
      if (type === "delete" || type === "move") this.#wanted.all = true;
      else if (id) this.#wanted.ids.add(id);
    }
    if (edits.some(({ type }) => type === "append")) window.htmx.trigger(document.body, "written");
    this.#refresh();
  }

  /** Go to where one's own messages are. @param {string[]} ids of those that are stored now */
  showOwn(ids) {
    for (const id of ids) this.#own.add(id);
    if (showsEnd()) toEnd();
    else if (ids.length) location.assign(this.#url);
  }

  /** Show a turn as the server has it. @param {string} id */
  refresh(id) {
    this.#wanted.ids.add(id);
    this.#refresh();
  }

  /** Lay the texts that are not saved yet over those of the server. */
  layOver() {
    const stayed = atEnd();
    const edits = this.#sync.waiting;
    for (const { type, field, id, value } of edits) {
      if (type !== "field" || field !== "mes") continue;
      const prose = this.of(id)?.querySelector(".prose");
      if (prose) showPlain(prose, value);
    }
    for (const { type, id } of edits) if (type === "delete") this.of(id)?.setAttribute("data-going", "");
    const added = edits.filter(({ type }) => type === "append").flatMap(({ value }) => value);
    unsent.replaceChildren(...added.map(unsentTurn));
    unsent.hidden = added.length === 0;
    if (stayed && added.length) toEnd();
  }

  async #refresh() {
    if (this.#running) return;
    this.#running = true;
    await null; // what is told in one turn of the loop is fetched together
    try {
      for (let wanted = this.#take(); wanted; wanted = this.#take()) await this.#fetch(wanted);
    } finally {
      this.#running = false;
    }
  }

  #take() {
    const { ids, end, all } = this.#wanted;
    this.#wanted = { ids: new Set(), end: false, all: false };
    return ids.size || end || all ? { ids, end, all: all || ids.size > FEW } : null;
  }

  async #fetch({ ids, end, all }) {
    if (all) return this.#fetchAll();
    for (const id of ids) await this.#fetchOne(id);
    if (end) await this.#fetchEnd();
  }

  async #fetchOne(id) {
    const parts = this.of(id) && (await fetchPart(`${this.#url}messages/${id}/`));
    const turn = this.of(id);
    if (parts?.length && turn && !isBusy(turn)) this.#put(() => this.#replace(turn, parts[0]));
  }

  async #fetchEnd() {
    if (!showsEnd()) return this.#count(this.#below + 1);
    const parts = await fetchPart(`${this.#url}window/?after=${endOfShown() - 1}`);
    if (!parts || !showsEnd()) return;
    const known = new Set(shown().map((turn) => turn.dataset.id));
    const added = parts.filter((part) => !known.has(part.dataset.id));
    this.#put(() => { tail().replaceWith(...added); }, added);
  }

  async #fetchAll() {
    const turns = shown();
    const from = Number(turns[0]?.dataset.index ?? 0);
    const to = showsEnd() ? 1e8 : endOfShown();
    const parts = await fetchPart(`${this.#url}turns/?from=${from}&to=${to}`);
    if (!parts) return;
    const old = new Map(shown().map((turn) => [turn.dataset.id, turn]));
    const added = parts.filter((part) => part.matches(".turn") && !old.has(part.dataset.id));
    this.#put(() => arrange(parts.map((part) => this.#kept(old.get(part.dataset.id), part))), added);
  }

  /** The turn that stays on the page: the one that is there, where it reads the same or is being written in. */
  #kept(old, part) {
    if (!old || (!isBusy(old) && !isSame(old, part))) return part;
    if (!isSame(old, part)) {
      Object.assign(old.dataset, { index: part.dataset.index, rev: "" }); // what it reads is old
      old.id = part.id;
      old.querySelector(".message").id = `m-${part.dataset.index}`;
    }
    return old;
  }

  #replace(turn, part) {
    const focused = turn.contains(document.activeElement);
    turn.replaceWith(part);
    if (focused) part.querySelector(".message")?.focus({ preventScroll: true });
  }

  /** Change the list, and keep the place: at the end where one was there, else where one reads. */
  #put(change, added = []) {
    const stayed = atEnd() && showsEnd();
    const anchor = stayed ? null : shown().find((turn) => turn.getBoundingClientRect().bottom > scroller.getBoundingClientRect().top);
    const top = anchor?.getBoundingClientRect().top;
    change();
    for (const part of list.children) if (!part.dataset.live) this.#begin(part);
    this.layOver();
    if (stayed) toEnd();
    else if (anchor?.isConnected) scroller.scrollTop += anchor.getBoundingClientRect().top - top;
    const news = added.filter((part) => part.matches(".turn") && !this.#own.has(part.dataset.id)).length;
    if (news) this.#count(stayed ? 0 : this.#below + news);
    this.#total();
    this.onShown();
    document.body.dispatchEvent(new CustomEvent("turns"));
  }

  #begin(part) {
    part.dataset.live = "on";
    window.htmx.process(part);
    if (part.matches(".turn")) this.#track([part]);
  }

  #track(turns) {
    this.#sync.track(turns.filter((turn) => !turn.dataset.tracked).map((turn) => {
      turn.dataset.tracked = "";
      return JSON.parse(turn.querySelector(":scope > script").textContent);
    }));
  }

  #count(below) {
    this.#below = below;
    pill.hidden = below === 0;
    pill.textContent = `${below} new message${below === 1 ? "" : "s"} ↓`;
  }

  #total() {
    const { total } = tail().dataset;
    if (total !== "0") scroller.querySelector(":scope > .empty")?.remove();
    document.querySelector("[data-count]").textContent = `${total} message${total === "1" ? "" : "s"}`;
  }
}

/** Have exactly `parts` in the list; what stays is not taken out, so that it keeps its focus. */
function arrange(parts) {
  const wanted = new Set(parts);
  for (const part of [...list.children]) if (!wanted.has(part)) part.remove();
  let cursor = list.firstElementChild;
  for (const part of parts) {
    if (part === cursor) cursor = cursor.nextElementSibling;
    else list.insertBefore(part, cursor);
  }
}

function showPlain(prose, text) {
  if (prose.matches(".plain") && prose.textContent === text) return;
  prose.classList.add("plain");
  prose.textContent = text;
}

function unsentTurn({ mes, name, is_user: isUser }) {
  const turn = blank.content.cloneNode(true).firstElementChild;
  turn.classList.toggle("by-user", isUser);
  turn.querySelector(".speaker").textContent = name;
  showPlain(turn.querySelector(".prose"), mes);
  return turn;
}
