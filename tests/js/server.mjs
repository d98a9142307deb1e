// A server in memory that keeps to the contract of chats and settings: integrity, change log, 409 with the delta,
// idempotency keys. `fetch` is what a client gets; `weather` says what goes wrong on the way.
import { mergePatch, same } from "../../static/js/sync/documents.js";
import { applySplice, codePoints } from "../../static/js/sync/text.js";

const newId = () => crypto.randomUUID();
const clone = (value) => structuredClone(value);
const SET = ["mes", "name", "is_system", "send_date", "participant"];

class Problem extends Error {
  constructor(status, type, more = {}) {
    super(type);
    this.status = status;
    this.document = { type: `/problems/${type}`, title: type, status, detail: type, ...more };
  }
}

const invalid = (pointer) => new Problem(400, "validation", { errors: [{ pointer, detail: "It does not fit." }] });

function newMessage(given) {
  if (typeof given.mes !== "string" || /\0/.test(given.mes)) throw invalid("/messages/0/mes");
  const swipes = given.swipes ?? [given.mes];
  const infos = swipes.map((_, n) => ({ extra: n === (given.swipe_id ?? 0) ? given.extra ?? {} : {} }));
  return {
    id: newId(), rev: 1, name: given.name ?? "", is_user: given.is_user ?? false, is_system: given.is_system ?? false,
    participant: null, send_date: given.send_date ?? "now", swipe_id: given.swipe_id ?? 0, swipes, swipe_info: infos,
  };
}

export class MemoryServer {
  chat = { id: newId(), metadata: {}, messages: [], integrity: newId(), rev: 0, log: [], states: new Map() };
  settings = { integrity: newId(), rev: 0, settings: {} };
  pageSize = Infinity; // changes in one reply
  weather = () => "fine";
  refusal = {}; // the body of replies that the weather makes
  requests = [];
  #keys = new Map();
  #held = [];
  #streams = new Set();
  isDeaf = false; // whether streams have their headers only, until `listen`
  #deaf = [];

  constructor(...texts) {
    this.chat.messages = texts.map((mes) => newMessage({ mes }));
    this.chat.states.set(this.chat.integrity, 0);
  }

  get path() { return `/api/v1/chats/${this.chat.id}/`; }

  get state() { return { integrity: this.chat.integrity, rev: this.chat.rev, metadata: this.chat.metadata }; }

  /** Messages as the API tells them. */
  get messages() {
    return this.chat.messages.map((message, index) => this.#document(message, index));
  }

  #document(message, index = this.chat.messages.indexOf(message)) {
    const { extra = {} } = message.swipe_info[message.swipe_id];
    return clone({ ...message, index, mes: message.swipes[message.swipe_id], extra, hidden: message.is_system });
  }

  fetch = async (url, { method = "GET", headers = {}, body, signal } = {}) => {
    const weather = await this.weather(method, url, body);
    if (weather === "held") {
      this.#held.push([method, url, headers, body]);
      if (this.#held.length > 3) this.#answer(...this.#held.shift());
      throw new TypeError("the request is on its way");
    }
    if (weather === "late") await new Promise((resolve) => setTimeout(resolve, 3));
    if (weather === "away" || signal?.aborted) throw new TypeError("the network is away");
    if (url.endsWith("/events/")) return this.#stream(signal);
    if (typeof weather === "object") return new Response(JSON.stringify(this.refusal), weather);
    this.requests.push({ method, url, headers, body: body && JSON.parse(body), bytes: body?.length ?? 0 });
    const reply = this.#answer(method, url, headers, body);
    this.requests.at(-1).status = reply.status;
    if (weather === "lost" || signal?.aborted) throw new TypeError("the reply is lost");
    return reply;
  };

  #answer(method, url, headers, text) {
    const key = headers["Idempotency-Key"];
    const stored = key && this.#keys.get(key);
    const asked = `${method} ${url} ${text}`;
    try {
      if (stored && (stored.asked !== asked || !stored.reply)) throw new Problem(422, "idempotency-key-reused");
      const [status, document] = stored?.reply ?? this.#route(method, new URL(url, "http://x"), text && JSON.parse(text));
      if (key) this.#keys.set(key, { asked, reply: clone([status, document]) });
      return new Response(JSON.stringify(document), { status });
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      return new Response(JSON.stringify(problem.document), { status: problem.status });
    }
  }

  #route(method, url, body) {
    const query = url.searchParams;
    if (url.pathname === "/api/v1/settings/") return [200, method === "PATCH" ? this.#patchSettings(body) : this.settings];
    if (url.pathname === "/api/v1/memories/tombstones/") return [200, { tombstones: [], until: "2026-01-01T00:00Z", complete: true }];
    if (!url.pathname.startsWith(this.path)) throw new Problem(404, "not-found");
    const { integrity, rev, metadata, messages } = this.chat;
    const state = { integrity, rev };
    switch (`${method} ${url.pathname.slice(this.path.length)}`) {
      case "GET ": return [200, { id: this.chat.id, ...state, metadata, message_count: messages.length }];
      case "GET messages/": return [200, { ...state, ...this.#window(Number(query.get("from")), Number(query.get("limit"))) }];
      case "GET changes/": return [200, { ...state, ...this.#page(this.#changes(this.#known(query.get("since")))) }];
      case "POST append/": return [201, this.#append(body)];
      case "POST patch/": return [200, this.#patch(body)];
      case "POST patch-metadata/": return [200, this.#patchMetadata(body)];
      default: throw new Problem(404, "not-found");
    }
  }

  #window(from, limit) {
    const total = this.chat.messages.length;
    const start = from < 0 ? Math.max(0, total + from) : from;
    return { total, from: start, results: this.messages.slice(start, start + Math.min(limit, 200)) };
  }

  #page(changes) {
    return { changes: changes.slice(0, this.pageSize), next: changes.length > this.pageSize ? "?since=later" : null };
  }

  #known(integrity) {
    const rev = this.chat.states.get(integrity);
    if (rev === undefined) throw new Problem(410, "history-gone");
    return rev;
  }

  #changes(since) {
    return this.chat.log.filter(({ rev }) => rev > since).map(({ ids, ...entry }) => ({
      ...entry,
      messages: this.chat.messages.filter(({ id }) => ids.includes(id)).map((message) => this.#document(message)),
    }));
  }

  async passDays(days) {
    this.dropReplies();
    if (days > 30) this.forget();
  }

  /** Answer what is still on its way. */
  async deliver() {
    for (const request of this.#held.splice(0)) this.#answer(...request);
  }

  /** Keep only the keys of what was written, as after a day. */
  dropReplies() {
    for (const record of this.#keys.values()) record.reply = null;
  }

  /** Forget the log, as after its time. */
  forget() {
    this.chat.log = [];
    this.chat.states = new Map([[this.chat.integrity, this.chat.rev]]);
  }

  #conflict(integrity, more) {
    const { chat } = this;
    const known = chat.states.get(integrity);
    const changes = known === undefined ? {} : { changes: this.#changes(known) };
    return new Problem(409, "integrity-conflict", {
      current_integrity: chat.integrity, current_rev: chat.rev, ...changes, ...more,
    });
  }

  #written(kind, ids, deleted = [], metadata = null) {
    const { chat } = this;
    Object.assign(chat, { rev: chat.rev + 1, integrity: newId() });
    chat.states.set(chat.integrity, chat.rev);
    chat.log.push({ rev: chat.rev, integrity: chat.integrity, kind, ids, deleted, metadata });
    this.#say("chat", { chat: chat.id, rev: chat.rev, integrity: chat.integrity, kind });
    return { integrity: chat.integrity, rev: chat.rev };
  }

  #append({ integrity, on_conflict, messages }) {
    const { chat } = this;
    if (integrity !== undefined && integrity !== chat.integrity && on_conflict !== "rebase") throw this.#conflict(integrity);
    const added = messages.map(newMessage);
    chat.messages.push(...added);
    const state = this.#written("append", added.map(({ id }) => id));
    const appended = added.map((message) => ({ id: message.id, index: chat.messages.indexOf(message), rev: 1 }));
    return { ...state, message_count: chat.messages.length, appended, deduplicated: 0 };
  }

  #patch({ integrity, on_conflict, patches }) {
    const { chat } = this;
    if (integrity === undefined) throw new Problem(428, "integrity-required");
    const draft = { list: clone(chat.messages), touched: new Set(), deleted: [] };
    if (integrity === chat.integrity) patches.forEach((patch, n) => applyPatch(draft, patch, `/patches/${n}`));
    else this.#applyStale(draft, patches, integrity, on_conflict === "rebase");
    const changed = draft.list.filter((message) => draft.touched.has(message.id));
    if (!changed.length && !draft.deleted.length) return { integrity: chat.integrity, rev: chat.rev, applied: 0, skipped: patches.length, messages: [] };
    for (const message of changed) if (chat.messages.some(({ id }) => id === message.id)) message.rev += 1;
    chat.messages = draft.list;
    const state = this.#written("patch", changed.map(({ id }) => id), draft.deleted);
    const places = changed.map((message) => ({ id: message.id, index: chat.messages.indexOf(message), rev: message.rev }));
    return { ...state, applied: patches.length, skipped: 0, messages: places };
  }

  /** What is in effect already may be sent with any integrity; with a rebase also what nobody touched since. */
  #applyStale(draft, patches, integrity, isRebase) {
    const since = this.chat.states.get(integrity);
    if (since === undefined) throw this.#conflict(integrity);
    const entries = this.chat.log.filter(({ rev }) => rev > since);
    const gone = entries.flatMap(({ deleted }) => deleted);
    const left = patches.filter(({ id, delete: deletes }) => !deletes || !gone.includes(id));
    try {
      left.forEach((patch, n) => applyPatch(draft, patch, `/patches/${n}`));
    } catch {
      throw this.#conflict(integrity);
    }
    const changes = [...draft.touched, ...draft.deleted];
    if (changes.length && !isRebase) throw this.#conflict(integrity);
    const contested = entries.flatMap(({ ids }) => ids);
    if (left.some(({ id }) => changes.length && contested.includes(id))) throw this.#conflict(integrity, { conflicts: [] });
  }

  #patchMetadata({ integrity, metadata }) {
    const { chat } = this;
    if (integrity === undefined) throw new Problem(428, "integrity-required");
    const after = mergePatch(chat.metadata, metadata);
    const state = { integrity: chat.integrity, rev: chat.rev };
    if (same(after, chat.metadata)) return { ...state, metadata: after, applied: 0, skipped: 1 };
    if (integrity !== chat.integrity) throw this.#conflict(integrity);
    chat.metadata = after;
    return { ...this.#written("metadata", [], [], metadata), metadata: chat.metadata, applied: 1, skipped: 0 };
  }

  #patchSettings({ integrity, settings }) {
    const { settings: now } = this;
    if (integrity === undefined) throw new Problem(428, "integrity-required");
    if (integrity !== now.integrity) {
      throw new Problem(409, "integrity-conflict", { current_integrity: now.integrity, current_rev: now.rev });
    }
    this.settings = { integrity: newId(), rev: now.rev + 1, settings: mergePatch(now.settings, settings) };
    this.#say("settings", { rev: this.settings.rev, integrity: this.settings.integrity });
    return this.settings;
  }

  // Server-sent events

  #stream(signal) {
    let controller;
    const body = new ReadableStream({
      start: (it) => { controller = it; },
      cancel: () => this.#streams.delete(controller),
    });
    const begin = () => {
      this.#streams.add(controller);
      controller.enqueue(new TextEncoder().encode("retry: 20\n\n"));
    };
    signal?.addEventListener("abort", () => {
      if (this.#streams.delete(controller)) controller.error(new Error("aborted"));
    });
    if (this.isDeaf) this.#deaf.push(begin);
    else begin();
    return new Response(body, { status: 200 });
  }

  /** Say the first words of the streams that have their headers only, and tell them what is written from now on. */
  listen() {
    this.isDeaf = false;
    for (const begin of this.#deaf.splice(0)) begin();
  }

  get listeners() { return this.#streams.size; }

  hangUp() {
    for (const stream of this.#streams) stream.close();
    this.#streams.clear();
  }

  #say(event, data) {
    const text = `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    for (const stream of this.#streams) stream.enqueue(new TextEncoder().encode(text));
  }
}

function applyPatch(draft, patch, at) {
  if (Object.keys(patch).length === 1) throw invalid(`${at}/set`);
  const place = draft.list.findIndex(({ id }) => id === patch.id);
  if (place < 0) throw invalid(`${at}/id`);
  const message = draft.list[place];
  const before = clone(message);
  if (patch.delete) {
    draft.list.splice(place, 1);
    draft.deleted.push(patch.id);
    draft.touched.delete(patch.id);
    return;
  }
  applySwipes(message, patch, at);
  applyValues(message, patch, at);
  if (!same(before, message)) draft.touched.add(message.id);
  if (patch.insert_before) {
    const added = newMessage(patch.insert_before);
    draft.list.splice(place, 0, added);
    draft.touched.add(added.id);
  }
  if (patch.move_to !== undefined) {
    if (patch.move_to >= draft.list.length) throw invalid(`${at}/move_to`);
    if (draft.list.indexOf(message) === patch.move_to) return;
    draft.list.splice(draft.list.indexOf(message), 1);
    draft.list.splice(patch.move_to, 0, message);
    draft.touched.add(message.id);
  }
}

function applySwipes(message, { add_swipe: added, delete_swipe: gone, swipe_order: order, swipe_id: active }, at) {
  if (added) {
    if (/\0/.test(added.mes)) throw invalid(`${at}/add_swipe/mes`);
    message.swipes.push(added.mes);
    message.swipe_info.push({ extra: added.extra ?? {} });
    message.swipe_id = message.swipes.length - 1;
  }
  if (gone !== undefined) {
    if (gone >= message.swipes.length || message.swipes.length === 1) throw invalid(`${at}/delete_swipe`);
    message.swipes.splice(gone, 1);
    message.swipe_info.splice(gone, 1);
    if (message.swipe_id > gone) message.swipe_id -= 1;
    message.swipe_id = Math.min(message.swipe_id, message.swipes.length - 1);
  }
  if (order) {
    if (!same([...order].sort((a, b) => a - b), message.swipes.map((_, n) => n))) throw invalid(`${at}/swipe_order`);
    message.swipe_id = order.indexOf(message.swipe_id);
    message.swipes = order.map((n) => message.swipes[n]);
    message.swipe_info = order.map((n) => message.swipe_info[n]);
  }
  if (active !== undefined) {
    if (active >= message.swipes.length) throw invalid(`${at}/swipe_id`);
    message.swipe_id = active;
  }
}

function applyValues(message, { set = {}, extra, data, splice }, at) {
  for (const [field, value] of Object.entries(set)) {
    if (!SET.includes(field)) throw invalid(`${at}/set/${field}`);
    if (field === "mes" && (typeof value !== "string" || /\0/.test(value))) throw invalid(`${at}/set/mes`);
    if (field === "mes") message.swipes[message.swipe_id] = value;
    else message[field] = value;
  }
  if (extra) {
    const info = message.swipe_info[message.swipe_id];
    message.swipe_info[message.swipe_id] = { ...info, extra: mergePatch(info.extra ?? {}, extra) };
  }
  if (data) {
    const info = message.swipe_info[message.swipe_id];
    const { namespace, values = {}, clear = [] } = data;
    const kept = Object.entries({ ...info.extra?.[namespace], ...values }).filter(([key]) => !clear.includes(key));
    const rest = mergePatch(info.extra ?? {}, { [namespace]: null });
    const now = kept.length ? { [namespace]: Object.fromEntries(kept) } : {};
    message.swipe_info[message.swipe_id] = { ...info, extra: { ...rest, ...now } };
  }
  if (splice) {
    const text = message.swipes[message.swipe_id];
    if (splice.at + splice.delete > codePoints(text) || /\0/.test(splice.insert)) throw invalid(`${at}/splice`);
    message.swipes[message.swipe_id] = applySplice(text, splice);
  }
}
