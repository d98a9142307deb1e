// The messages that a front end shows, kept as the server has them: a window of the chat, and single ones beside it.

export class Replica {
  /** Messages from index `from` on, without gaps. */
  messages = [];
  from = 0;
  /** The messages of the whole chat; null while that isn't known. */
  total = null;
  /** Whether the window reaches the chat's end, and stays there. */
  toEnd = false;
  /** Messages known by themselves: id -> document, maybe of some fields only. */
  #single = new Map();
  /** Indexes of all messages in the present state: id -> index; null while they aren't known. */
  #places = null;

  /** Whether the window holds the whole chat. */
  get isWhole() {
    return this.from === 0 && this.total === this.messages.length;
  }

  /** @returns {object | undefined} */
  get(id) {
    return this.messages.find((message) => message.id === id) ?? this.#single.get(id);
  }

  /** @returns {number | undefined} the index of a message, where it is known */
  indexOf(id) {
    return this.#places?.get(id) ?? this.messages.find((message) => message.id === id)?.index;
  }

  /** @returns {number | undefined} the number of messages, where it is known */
  get count() {
    return this.total ?? this.#places?.size;
  }

  /** @param {object[]} messages all of the present state */
  placeAll(messages) {
    this.#places = new Map(messages.map(({ id, index }) => [id, index]));
  }

  /** @param {{from: number, total: number, messages: object[]}} window; one that begins behind the end begins at it */
  show({ from, total, messages }) {
    Object.assign(this, { from: Math.min(from, total), total, messages, toEnd: from + messages.length >= total });
  }

  /** @param {object[]} messages */
  track(messages) {
    for (const message of messages) this.#single.set(message.id, message);
  }

  /** Put a message in the place of its older version. */
  replace(message) {
    this.messages = this.messages.map((old) => (old.id === message.id ? message : old));
    if (this.#single.has(message.id)) this.#single.set(message.id, message);
  }

  /** The id of the message behind `id` that is not among `gone`; null at the end, undefined where it isn't known. */
  survivor(id, gone) {
    const at = this.messages.findIndex((message) => message.id === id);
    if (at < 0) return undefined;
    const next = this.messages.slice(at).find((message) => !gone.has(message.id));
    if (next) return next.id;
    return this.toEnd ? null : undefined;
  }

  /**
   * Apply what was written, all of it at once.
   * @param {Map<string, object>} touched messages as they are now @param {Set<string>} deleted ids
   * @returns {boolean} whether the window is exact; if not it has to be reloaded
   */
  apply(touched, deleted) {
    if (touched.size || deleted.size) this.#places = null;
    for (const id of deleted) this.#single.delete(id);
    for (const [id, message] of touched) if (this.#single.has(id)) this.#single.set(id, message);
    if (this.total === null) return true;
    if (this.isWhole) return this.#applyToWhole(touched, deleted);
    return this.#applyToWindow(touched, deleted);
  }

  #applyToWhole(touched, deleted) {
    const rest = this.messages.filter(({ id }) => !deleted.has(id) && !touched.has(id));
    for (const message of inOrder(touched)) rest.splice(message.index, 0, message);
    this.messages = renumbered(rest);
    this.total = rest.length;
    return true;
  }

  /** A window can't tell what happened before it: it stays exact as long as no message it knows of changed its place. */
  #applyToWindow(touched, deleted) {
    const known = new Map(this.messages.map((message) => [message.id, message]));
    const stays = ({ id, index }) => (known.has(id) ? known.get(id).index === index : index >= this.total);
    const exact = deleted.size === 0 && [...touched.values()].every(stays);
    this.messages = this.messages.filter(({ id }) => !deleted.has(id)).map((message) => touched.get(message.id) ?? message);
    if (!exact) return false;
    for (const message of inOrder(touched)) {
      if (message.index !== this.total) continue;
      if (this.toEnd) this.messages.push(message);
      this.total += 1;
    }
    return true;
  }

  /** Put in newer versions, and forget single messages that are gone. @param {Map<string, object>} all of the chat */
  refresh(all) {
    this.#places = null;
    for (const id of this.#single.keys()) if (!all.has(id)) this.#single.delete(id);
    this.messages = this.messages.filter(({ id }) => all.has(id));
    for (const message of all.values()) this.replace(message);
  }

  /** @returns {boolean} whether the window is exact */
  remove(id) {
    this.#places = null;
    this.#single.delete(id);
    const at = this.messages.findIndex((message) => message.id === id);
    if (at < 0) return this.total === null;
    this.messages = renumbered(this.messages.toSpliced(at, 1), this.from);
    this.total -= 1;
    return true;
  }

  /** Have a message of the window at another index of it. @returns {boolean} whether the window is exact */
  move(id, index) {
    this.#places = null;
    if (this.total === null) return true;
    const at = this.messages.findIndex((message) => message.id === id);
    const to = index - this.from;
    if (at < 0 || to < 0 || to >= this.messages.length) return false;
    const rest = this.messages.toSpliced(at, 1);
    rest.splice(to, 0, this.messages[at]);
    this.messages = renumbered(rest, this.from);
    return true;
  }
}

const inOrder = (touched) => [...touched.values()].sort((a, b) => a.index - b.index);

const renumbered = (messages, from = 0) =>
  messages.map((message, n) => (message.index === from + n ? message : { ...message, index: from + n }));
