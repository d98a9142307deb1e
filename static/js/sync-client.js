/**
 * Keeps a front end in step with chats and settings on a Loci server. No dependencies; browsers and node 20.
 * The protocol is described in docs/sync-protocol.md.
 *
 *   const { openSync } = await import("./sync-client.js");
 *   const sync = await openSync({ chatId, headers: () => ({ "X-CSRFToken": token }) });
 *   await sync.load({ from: -50, limit: 50 });     // a window, kept up to date; or track(messages) those shown already.
 *                                                  // Without a network: the copy of the last visit, see forgetCopies
 *   // With `manual: true` nothing is sent or read by itself: `await sync.push()` sends, `await sync.pull()` reads.
 *   sync.edit(id, { mes: text });                  // sent after the debounce, merged with what others write
 *   await sync.append({ mes: "Hello", is_user: true });
 *   const calls = new Calls({ headers });           // recalls, scenes, snapshots, memories and the journal
 *   sync.addEventListener("changed", ({ detail }) => render(detail.messages, detail.deleted));
 *   sync.addEventListener("conflict", ({ detail }) => ask(detail.mine, detail.theirs).then(detail.resolve));
 *
 * Events of ChatSync and SettingsSync, all CustomEvents:
 *   changed   what others wrote, and own messages as the server completed them. Chats: {messages, deleted, metadata,
 *             chat, reload}: messages as they are now with unsent edits laid over; metadata the whole or null; chat its
 *             {title, character, user_name, persona}, or null where they are as before; reload true where places may have
 *             changed in a way that only the whole window (`sync.messages`) shows.
 *             Settings: {settings, keys}
 *   saved     the server has accepted a write: {rev, integrity, edits}
 *   tombstones  memories that the chat may have known were deleted: {tombstones: [{id, chat, at}]}
 *   status    {state: "saved" | "waiting" | "saving" | "offline" | "blocked", pending: number of unsent edits}
 *   conflict  the same place was changed by both: {id, field, base, mine, theirs, edit, resolve(value), discard()};
 *             theirs null: the message is gone, or what an insert or a move stands before. Nothing is lost until one of
 *             the two is called.
 *   refused   the server can't accept an edit (400, 413, 422): {edit, problem, retry(), discard()}
 *   blocked   401, 403 or 404: {status, problem}; the edits are kept, `resume()` tries again
 */
export { ChatSync } from "./sync/chat.js";
export { SettingsSync } from "./sync/settings.js";
export { EventFeed } from "./sync/live.js";
export { IndexedStorage, MemoryStorage } from "./sync/storage.js";
export { forgetCopies } from "./sync/copies.js";
export { readGraph } from "./sync/graph.js";
export { Calls } from "./sync/calls.js";

import { ChatSync } from "./sync/chat.js";
import { SettingsSync } from "./sync/settings.js";

/**
 * A ChatSync, or with no `chatId` a SettingsSync, opened: unsent edits of earlier visits are taken up again.
 * @param {import("./sync/edits.js").SyncOptions & {chatId?: string, integrity?: string, rev?: number}} options
 *   `integrity` and `rev`: of the state that the page shows already
 * @returns {Promise<ChatSync | SettingsSync>}
 */
export async function openSync(options) {
  const sync = options.chatId ? new ChatSync({ ...options, chatId: options.chatId }) : new SettingsSync(options);
  await sync.open(options);
  return sync;
}
