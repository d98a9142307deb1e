// Reads messages of a chat in as many requests as they need.

const PAGE = 200; // messages, the most that one reply holds

/**
 * Messages of one state of the chat.
 * @param {import("./outbox.js").Outbox} outbox asks, and is blocked where the server refuses
 * @param {string} path of the chat @param {{from: number, limit: number}} window
 * @returns {Promise<object | null>} null where the chat was written meanwhile, or the server refuses
 */
export async function readMessages(outbox, path, { from, limit }) {
  let window = null;
  for (let [at, left] = [from, limit]; left > 0;) {
    const { status, body } = await outbox.ask("GET", `${path}messages/?from=${at}&limit=${Math.min(left, PAGE)}`);
    if (status !== 200) return outbox.block({ status, body }) ?? null;
    if (window && body.integrity !== window.integrity) return null;
    window ??= { ...body, messages: [] };
    window.messages.push(...body.results);
    [at, left] = [body.from + body.results.length, left - body.results.length];
    if (body.results.length === 0 || at >= body.total) break;
  }
  return window;
}
