// Which chat of Loci is SillyTavern's: found by its place, made where there is none, or branched off.
import { docOf, isTold, metadataOf, placeOf } from "./messages.js";
import { newKey } from "./sync/transport.js";

const TAG = "SillyTavern";
const MAX_TITLE = 200;

/**
 * The chat that SillyTavern shows.
 * @typedef {{place: string, parent: string | null, title: string, avatar: string | null, group: object | null,
 *   userName: string, messages: object[], metadata: object}} Shown
 */

/** @param {object} context of SillyTavern @returns {Shown | null} null: no chat of a character or group is open */
export function shownChat(context) {
  const group = context.groupId ? context.groups.find(({ id }) => id === context.groupId) : null;
  const avatar = group ? null : context.characters[context.characterId]?.avatar ?? null;
  const file = context.getCurrentChatId?.() ?? context.chatId;
  if (!file || (!group && !avatar)) return null;
  const key = { groupId: group?.id, avatar };
  const main = context.chatMetadata.main_chat;
  return {
    place: placeOf({ ...key, file }),
    parent: main && main !== file ? placeOf({ ...key, file: main }) : null,
    title: String(group?.name ?? file).slice(0, MAX_TITLE), // the file of a group's chat is called by a number
    avatar,
    group,
    userName: context.name1,
    messages: context.chat,
    metadata: context.chatMetadata,
  };
}

/** Characters and chats of Loci by what SillyTavern calls them. `kept` is stored with SillyTavern's settings. */
export class Bindings {
  #api;
  #keys = new Map(); // of requests that make a chat
  #kept;
  #save;

  /** @param {import("./api.js").Api} api @param {{chats: object, characters: object}} kept @param {() => void} save */
  constructor(api, kept, save) {
    this.#api = api;
    this.#kept = kept;
    this.#save = save;
  }

  /** @param {object} card of SillyTavern @returns {Promise<string>} the id of its character in Loci */
  async character(card) {
    const known = this.#kept.characters[card.avatar];
    if (known) return known;
    const bound = new Set(Object.values(this.#kept.characters));
    const named = (await this.#api.all("characters/")).find(({ id, name }) => name === card.name && !bound.has(id));
    const { id } = named ?? await this.#api.ask("POST", "characters/", cardOf(card));
    this.#keep("characters", card.avatar, id);
    return id;
  }

  /**
   * @param {Shown} shown @param {object[]} cards all of SillyTavern
   * @returns {Promise<{chatId: string, participants: Map<string, string>}>} participants: of a group, by avatar
   */
  async chat(shown, cards) {
    const known = this.#kept.chats[shown.place];
    const chatId = known ?? (await this.#found(shown))?.id ?? await this.#branched(shown) ?? await this.#made(shown, cards);
    if (!known) this.#keep("chats", shown.place, chatId);
    const participants = shown.group ? await this.#members(chatId, shown.group, cards) : new Map();
    return { chatId, participants };
  }

  /** A chat's file got another name. */
  async rename(from, to, title) {
    const id = this.#kept.chats[from];
    if (!id || from === to) return;
    delete this.#kept.chats[from];
    this.#keep("chats", to, id);
    await this.#api.ask("PATCH", `chats/${id}/`, { title: title.slice(0, MAX_TITLE) });
  }

  /** A character got another name, and with it another file. @param {string} from @param {{avatar: string, name: string}} card */
  async renameCharacter(from, card) {
    for (const place of Object.keys(this.#kept.chats).filter((name) => name.startsWith(`${from}/`))) {
      this.#kept.chats[card.avatar + place.slice(from.length)] = this.#kept.chats[place];
      delete this.#kept.chats[place];
    }
    const id = this.#kept.characters[from];
    if (!id) return;
    delete this.#kept.characters[from];
    this.#keep("characters", card.avatar, id);
    await this.#api.ask("PATCH", `characters/${id}/`, { name: card.name });
  }

  /** Forget which chat it is, so that it is stored again. */
  forget(place) {
    delete this.#kept.chats[place];
    this.#keys.clear();
    this.#save();
  }

  /** A request that makes a chat: one that is repeated has the same key, and makes no second one. */
  #make(path, body) {
    const request = `${path} ${JSON.stringify(body)}`;
    if (!this.#keys.has(request)) this.#keys.set(request, newKey());
    return this.#api.ask("POST", path, body, this.#keys.get(request));
  }

  #keep(kind, key, id) {
    this.#kept[kind][key] = id;
    this.#save();
  }

  /** The chat that another browser has made. */
  async #found({ place }) {
    const bound = new Set(Object.values(this.#kept.chats));
    const chats = await this.#api.all("chats/", { tag: TAG });
    return chats.find(({ id, metadata }) => metadata?.sillytavern?.place === place && !bound.has(id));
  }

  /** A branch begins as its chat does, and shares what is remembered of that. */
  async #branched(shown) {
    const parent = shown.parent && this.#kept.chats[shown.parent];
    if (!parent) return null;
    const told = shown.messages.filter(isTold).map((message) => docOf(message));
    let at = 0;
    for (let from = 0; from === at && from < told.length; from += 200) {
      const { results } = await this.#api.ask("GET", `chats/${parent}/messages/?from=${from}&limit=200`);
      const differs = results.findIndex(({ mes, is_user }, n) => told[from + n]?.mes !== mes || told[from + n].is_user !== is_user);
      at += differs < 0 ? results.length : differs;
      if (results.length < 200) break;
    }
    if (at === 0) return null;
    const { id, metadata } = await this.#make(`chats/${parent}/branch/`, { at: at - 1, title: shown.title });
    await this.#api.ask("PATCH", `chats/${id}/`, { tags: [TAG] });
    await this.#place(id, metadata, shown);
    return id;
  }

  /** It has the place of the chat that it branched from, until it gets its own. */
  async #place(id, metadata, { metadata: own, place }) {
    const { integrity } = await this.#api.ask("GET", `chats/${id}/`);
    await this.#api.ask("POST", `chats/${id}/patch-metadata/`, { integrity, metadata: { ...metadata, ...metadataOf(own, place) } });
  }

  async #made({ place, title, avatar, metadata, userName }, cards) {
    const card = cards.find((one) => one.avatar === avatar);
    const character = card ? await this.character(card) : null;
    const body = { title, character, user_name: userName, metadata: metadataOf(metadata, place) };
    const { id } = await this.#make("chats/", body);
    await this.#api.ask("PATCH", `chats/${id}/`, { tags: [TAG] });
    return id;
  }

  async #members(chatId, group, cards) {
    const { results } = await this.#api.ask("GET", `chats/${chatId}/participants/`);
    const members = new Map();
    for (const avatar of group.members) {
      const card = cards.find((one) => one.avatar === avatar);
      if (!card) continue;
      const character = await this.character(card);
      const muted = group.disabled_members?.includes(avatar) ?? false;
      const known = results.find((participant) => participant.character === character);
      const { id } = known ?? await this.#api.ask("POST", `chats/${chatId}/participants/`, { character, muted });
      if (known && known.muted !== muted) await this.#api.ask("PATCH", `chats/${chatId}/participants/${id}/`, { muted });
      members.set(avatar, id);
    }
    return members;
  }
}

const CARD = ["description", "personality", "scenario", "first_mes", "mes_example", "system_prompt", "post_history_instructions"];

/** What Loci reads of a character: the card's texts. */
const cardOf = (card) => ({
  name: card.name,
  ...Object.fromEntries(CARD.flatMap((field) => {
    const text = card.data?.[field] ?? card[field];
    return typeof text === "string" && text ? [[field, text]] : [];
  })),
});
