// Loci's slots as prompts of SillyTavern's extensions.

/** SillyTavern's numbers of positions and roles. */
const POSITIONS = { in_prompt: 0, in_chat: 1 };
const ROLES = { system: 0, user: 1, assistant: 2 };
const PREFIX = "loci_";
const FALLBACK_DEPTH = 4;

/**
 * @param {{name: string, text: string, position: string, depth: number, role: string}[]} slots
 * @returns {{key: string, value: string, position: number, depth: number, role: number}[]} in the order they stand in
 */
export function promptsOf(slots) {
  const filled = slots.filter(({ text }) => text.trim() !== "");
  // The depth of a slot before the conversation is its place among the others; SillyTavern orders them by their keys.
  const ordered = filled.toSorted((a, b) => (a.position === b.position && a.position === "in_prompt" ? a.depth - b.depth : 0));
  return ordered.map(({ name, text, position, depth, role }, n) => ({
    key: `${PREFIX}${String(n).padStart(2, "0")}_${name}`,
    value: withoutMacros(text),
    position: POSITIONS[position] ?? POSITIONS.in_chat,
    depth: position === "in_prompt" ? 0 : depth,
    role: ROLES[role] ?? ROLES.system,
  }));
}

/** What was recalled for a turn earlier, where Loci can't be asked. @param {string} text */
export const fallbackSlots = (text) => [{ name: "recall", text, position: "in_chat", depth: FALLBACK_DEPTH, role: "system" }];

/** What somebody said is material, also where it looks like a macro. */
export const withoutMacros = (text) => text.replaceAll(/\{(?=\{)/g, "{ ");

/** Put slots into the next prompt, in place of the last ones. @param {object} context of SillyTavern @param {object[]} slots */
export function fillSlots(context, slots) {
  for (const key of Object.keys(context.extensionPrompts)) if (key.startsWith(PREFIX)) delete context.extensionPrompts[key];
  for (const { key, value, position, depth, role } of promptsOf(slots)) {
    context.setExtensionPrompt(key, value, position, depth, false, role);
  }
}
