// What the extension does with the chat that SillyTavern shows: mirror it, and ask for its memory.
import { Api, Refusal } from "./api.js";
import { Bindings, shownChat } from "./binding.js";
import { RECALL } from "./messages.js";
import { Mirror } from "./mirror.js";
import { fallbackSlots, fillSlots } from "./slots.js";
import { IndexedStorage } from "./sync-client.js";

const SETTLE = 500; // ms until a chat with a new name counts as a new one: SillyTavern tells of a renaming afterwards
const MOMENT = 150; // ms in which several changes are one
const AGAIN = 5_000; // ms between tries where Loci can't be reached
const FLUSH = 5_000; // ms that a reply waits for what is unsent
const INCOMPLETE = new Set(["swipe", "continue"]); // ways to generate that write on to the last message
const MAX_RECALLED = 50; // entries of a recall that are kept with its message

/** Emits `changed` when the panel or the cards should be drawn again. */
export class Companion extends EventTarget {
  /** @type {Mirror | null} */
  mirror = null;
  /** What a person should know. @type {{kind: "off" | "ok" | "busy" | "offline" | "trouble" | "gone", text: string}} */
  status = { kind: "off", text: "Enter a token to connect." };
  /** @type {Api | null} */
  api = null;

  #bindings = /** @type {Bindings | null} */ (null);
  #records = new IndexedStorage("loci-sillytavern");
  #turn = 0; // grows with each chat that is opened
  #cards = new Map(); // avatar -> id of the character in Loci, of this visit
  #members = "";
  #isDue = false;
  #wake = () => {};

  /** @param {() => object} getContext of SillyTavern @param {object} settings see settings.js */
  constructor(getContext, settings) {
    super();
    this.getContext = getContext;
    this.settings = settings;
  }

  get context() {
    return this.getContext();
  }

  /** Use the settings as they are now. */
  async connect() {
    await this.#leave();
    this.#cards.clear();
    const { url, token, enabled } = this.settings;
    this.api = enabled && url && token ? new Api({ url, token }) : null;
    this.#bindings = this.api && new Bindings(this.api, this.#known, () => this.context.saveSettingsDebounced());
    if (!this.api) return this.#say("off", enabled ? "Enter a token to connect." : "Switched off.");
    await this.follow();
  }

  /** What is known of this installation: another one has other ids. */
  get #known() {
    return (this.settings.installations[this.settings.url] ??= { chats: {}, characters: {} });
  }

  // The chat that is open

  get place() {
    return shownChat(this.context)?.place ?? null;
  }

  /** Who is in the open group, and who of them is muted. */
  get members() {
    const { members, disabled_members: muted } = shownChat(this.context)?.group ?? {};
    return JSON.stringify([members, muted]);
  }

  get isOff() {
    const { off, auto } = this.settings;
    return off[this.place] ?? !auto;
  }

  /** Store the open chat, or don't. @param {boolean} stores */
  async choose(stores) {
    this.settings.off[this.place] = !stores;
    this.context.saveSettingsDebounced();
    await this.#leave();
    await this.follow();
  }

  /** Store a chat again that was deleted in Loci. */
  async storeAgain() {
    this.#bindings?.forget(this.place);
    await this.#leave();
    await this.follow();
  }

  /** SillyTavern shows another chat, or the same one anew. */
  async follow() {
    const { place, members } = this;
    if (this.mirror && this.mirror.place === place && this.#members === members) return this.reconcile();
    this.#members = members;
    await this.#leave();
    if (!this.api) return;
    if (!place) return this.#greet(this.#turn);
    if (this.isOff) return this.#say("ok", "This chat is not stored in Loci.");
    const turn = this.#turn;
    this.#say("busy", "Connecting …");
    await pause(SETTLE);
    while (turn === this.#turn && !(await this.#open(turn))) await this.#retryLater();
  }

  /** No chat is open: say whether Loci can be used. */
  async #greet(turn) {
    const { ok, isOffline, text } = await this.api.check();
    if (turn === this.#turn) this.#say(ok ? "ok" : isOffline ? "offline" : "trouble", text);
  }

  /** @returns {Promise<boolean>} whether there is nothing to try again */
  async #open(turn) {
    const checked = await this.api.check();
    if (turn !== this.#turn) return true;
    if (!checked.ok) {
      this.#say(checked.isOffline ? "offline" : "trouble", checked.text);
      if (checked.isOffline) this.#startKnown();
      return this.mirror !== null || !checked.isOffline;
    }
    try {
      const shown = shownChat(this.context);
      if (!shown) return true;
      const { chatId, participants } = await this.#bindings.chat(shown, this.context.characters);
      if (turn !== this.#turn) return true;
      this.#start(chatId, shown.place, participants);
      return true;
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      const isOffline = refusal.status === 0 || refusal.status >= 500 || refusal.status === 429;
      this.#say(isOffline ? "offline" : "trouble", isOffline ? "Loci can't be reached." : refusal.message);
      return !isOffline;
    }
  }

  /** Without a network, what one writes in a chat that Loci has is kept to be sent. A group's members are asked for first. */
  #startKnown() {
    const shown = shownChat(this.context);
    const chatId = shown && !shown.group && this.#known.chats[shown.place];
    if (chatId) this.#start(chatId, shown.place, new Map());
  }

  #start(chatId, place, participants) {
    const participantOf = (message) => participants.get(message.original_avatar);
    this.mirror = new Mirror({ chatId, place, sync: this.api.options, records: this.#records, participantOf });
    this.mirror.addEventListener("changed", () => this.#changed());
    const { mirror } = this;
    mirror.open().then(() => mirror === this.mirror && this.#recallEarlier(mirror)).catch((error) => console.error("Loci:", error));
  }

  async #leave() {
    this.#turn += 1;
    this.macros = {};
    this.#wake();
    const { mirror } = this;
    this.mirror = null;
    fillSlots(this.context, []);
    if (mirror) mirror.flush(FLUSH).finally(() => mirror.close());
  }

  #retryLater() {
    return Promise.race([pause(AGAIN), new Promise((resolve) => { this.#wake = resolve; })]);
  }

  #changed() {
    const { mirror } = this;
    if (!mirror) return;
    this.#say(...statusOf(mirror, this.context.chat.length));
    this.reconcileSoon();
  }

  /** Have Loci follow in a moment. */
  reconcileSoon() {
    if (this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => { this.#isDue = false; this.reconcile(); }, MOMENT);
  }

  /** Have Loci follow now. @param {boolean} [isWriting] whether the last message may be incomplete */
  reconcile(isWriting = Boolean(globalThis.document?.body.dataset.generating)) {
    const { mirror, context } = this;
    // While a chat is being loaded, its metadata are empty.
    if (!mirror || mirror.place !== this.place || !context.chatMetadata.integrity) return;
    mirror.reconcile(context.chat, { metadata: context.chatMetadata, isWriting });
  }

  // Renamings

  /** @param {{avatarId?: string, groupId?: string, oldFileName: string, newFileName: string}} names */
  async chatRenamed({ avatarId, groupId, oldFileName, newFileName }) {
    const [from, to] = [oldFileName, newFileName].map((name) => {
      const file = String(name).replace(/\.jsonl$/, "");
      return groupId ? `group/${groupId}/${file}` : `${avatarId}/${file}`;
    });
    await this.#bindings?.rename(from, to, to.split("/").at(-1)).catch(() => {});
  }

  async characterRenamed(from, to) {
    const card = this.context.characters.find(({ avatar }) => avatar === to);
    if (card) await this.#bindings?.renameCharacter(from, card).catch(() => {});
  }

  // Memory

  /**
   * Fill the slots for the next reply. Where Loci can't be asked, with what was recalled for this turn or the one before.
   * @param {number} contextTokens @param {string} type of SillyTavern's generation
   */
  async remember(contextTokens, type) {
    if (type === "quiet") return;
    this.macros = {}; // those of another turn, or of another member
    const { mirror, context } = this;
    const turn = context.chat.findLast((message) => message.is_user && !message.is_system);
    if (!mirror) return fillSlots(context, this.isOff ? [] : kept(context));
    this.reconcile(INCOMPLETE.has(type));
    const isThere = await mirror.flush(FLUSH);
    try {
      const prompt = await this.#prompt(mirror, isThere ? null : turn?.mes ?? null, contextTokens);
      if (mirror !== this.mirror) return;
      fillSlots(context, prompt.slots);
      this.macros = prompt.macros;
      if (turn && prompt.recall) this.keep(turn, prompt.recall);
    } catch {
      fillSlots(context, kept(context));
    }
  }

  async #prompt(mirror, text, contextTokens) {
    const body = { text, context_tokens: Math.max(1, Math.floor(contextTokens) || 8192), history: false };
    const card = this.context.characters[this.context.characterId];
    const character = card ? await this.#characterOf(card) : null;
    const path = `chats/${mirror.chatId}/prompt/`;
    try {
      return await this.api.ask("POST", path, { ...body, character });
    } catch (refusal) {
      // A character who is no member of the group, or is gone: what everybody knows.
      if (!character || refusal.status !== 400) throw refusal;
      return this.api.ask("POST", path, body);
    }
  }

  async #characterOf(card) {
    if (!this.#cards.has(card.avatar)) this.#cards.set(card.avatar, await this.#bindings.character(card));
    return this.#cards.get(card.avatar);
  }

  /** Keep with a turn what was recalled for it, and show it. @param {object} turn @param {object} recall as Loci tells it */
  keep(turn, { text, edited, outdated, tokens, memories, left_out_count }) {
    const told = memories.slice(0, MAX_RECALLED).map(({ text: said, why, kind }) => ({ text: said, why, kind }));
    turn.extra = { ...turn.extra, [RECALL]: { text, edited, outdated, tokens, count: memories.length, left_out: left_out_count, memories: told } };
    this.dispatchEvent(new CustomEvent("changed"));
  }

  /** Note with a turn that its recall was deleted. */
  keepDeleted(turn) {
    turn.extra = { ...turn.extra, [RECALL]: { deleted: true } };
    this.dispatchEvent(new CustomEvent("changed"));
  }

  /** The recalls of turns that another browser has asked for. */
  async #recallEarlier(mirror) {
    const { results } = await this.api.ask("GET", `chats/${mirror.chatId}/recalls/?limit=50`);
    this.reconcile();
    if (mirror !== this.mirror) return;
    const turns = new Map(this.context.chat.filter(({ is_user }) => is_user).map((message) => [mirror.idOf(message), message]));
    for (const recall of results) {
      const turn = turns.get(recall.message);
      if (turn && !turn.extra?.[RECALL]) this.keep(turn, recall);
    }
  }

  #say(kind, text) {
    this.status = { kind, text };
    this.dispatchEvent(new CustomEvent("changed"));
  }
}

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** What was recalled for the last turn, or for the one before it that has a recall. @param {object} context of SillyTavern */
function kept({ chat, groupId }) {
  if (groupId) return []; // it was for one member, and another may not know it
  const recall = chat.findLast(({ is_user, extra }) => is_user && extra?.[RECALL])?.extra[RECALL];
  return recall?.text ? fallbackSlots(recall.text) : [];
}

/** @param {Mirror} mirror @param {number} count messages in SillyTavern */
function statusOf({ blocked, status, isReady, progress, troubles, heldDeletions, differing }, count) {
  if (blocked?.status === 404) return ["gone", "This chat was deleted in Loci."];
  if (blocked?.status === 401) return ["trouble", "Loci doesn't know this token any more. Enter another one."];
  if (blocked) return ["trouble", blocked.problem?.detail ?? "Loci refuses this token. It needs write access."];
  if (heldDeletions) return ["trouble", `${heldDeletions} messages are gone here. Are they to be deleted in Loci too?`];
  if (troubles.length) return ["trouble", `${troubles.length} ${troubles.length === 1 ? "change needs" : "changes need"} your decision.`];
  if (status.state === "offline") return ["offline", `Loci can't be reached. ${counted(status.pending, "change")} will be sent once it is there.`];
  if (!isReady) return ["busy", "Reading the chat …"];
  if (progress.total > 1) return ["busy", `Storing messages: ${progress.done} of ${progress.total}.`];
  if (status.pending) return ["busy", `Sending ${counted(status.pending, "change")} …`];
  const elsewhere = differing ? ` ${counted(differing, "message")} ${differing === 1 ? "was" : "were"} changed in Loci.` : "";
  return ["ok", `Stored: ${counted(count, "message")}.${elsewhere}`];
}

const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
