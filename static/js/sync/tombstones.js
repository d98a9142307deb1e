// Which memories that a chat may have known were deleted: each of them, and each once.

/** What was told already, and the moment from which to ask next. */
export class Tombstones {
  #told = new Set();
  #until;

  /**
   * Yield the tombstones that are new, in a reply of `changes/` and, where it doesn't name all, in those of the list.
   * @param {object | null} changes null if the log was too short to say @param {import("./chat-state.js").ChatState} chat
   */
  async *since(changes, chat) {
    const { tombstones = [], tombstones_until: until = this.#until, tombstones_complete: complete = !!changes } = changes ?? {};
    let page = { tombstones, until, complete };
    for (;;) {
      const fresh = this.#fresh(page.tombstones);
      if (fresh.length) yield fresh;
      this.#until = page.until;
      if (page.complete) return;
      const since = page.until ? `&since=${encodeURIComponent(page.until)}` : "";
      const { status, body } = await chat.ask("GET", `memories/tombstones/?chat=${chat.chatId}${since}`);
      if (status !== 200) return void chat.block({ status, body });
      page = body;
    }
  }

  #fresh(tombstones) {
    const fresh = tombstones.filter(({ id, at }) => !this.#told.has(`${id} ${at}`));
    for (const { id, at } of fresh) this.#told.add(`${id} ${at}`);
    return fresh;
  }
}
