// Reads what memories name, and how it is connected.
import { Transport } from "./transport.js";

/**
 * The graph of a chat, a character or a memory, of several of them together, or of the account.
 * @param {import("./edits.js").SyncOptions} options
 * @param {{chat?: string, character?: string, memory?: string}} [scope] ids
 * @returns {Promise<{nodes: object[], edges: object[], left_out: {nodes: number, edges: number}}>} rejects with the
 *   server's problem, or with a Delay where it can't be asked
 */
export async function readGraph(options, scope = {}) {
  const given = Object.entries(scope).filter(([, id]) => id);
  const query = given.length ? `?${new URLSearchParams(Object.fromEntries(given))}` : "";
  const { status, body } = await new Transport(options).ask("GET", `graph/${query}`);
  if (status !== 200) throw body;
  return body;
}
