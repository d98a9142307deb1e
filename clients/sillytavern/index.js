// Loci as an extension of SillyTavern. It uses only what SillyTavern offers to extensions.
import { drawCards } from "./cards.js";
import { Companion } from "./companion.js";
import { addPanel } from "./panel.js";
import { settingsIn } from "./settings.js";
import { withoutMacros } from "./slots.js";

const LOOK = 2_000; // ms: hiding messages, and what other extensions write, is told by no event
const MACROS = [
  "shortterm", "longterm", "session", "scenes", "arcs", "relationships", "canon", "profiles", "epistemic", "stateledger",
  "triggered", "unified",
].map((name) => `smartmemory-${name}`);

const getContext = () => SillyTavern.getContext();

function start() {
  const { eventSource, eventTypes, extensionSettings, registerMacro } = getContext();
  const companion = new Companion(getContext, settingsIn(extensionSettings));
  const drawPanel = addPanel(companion);
  let drawing = false;
  const draw = () => {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => { drawing = false; drawPanel(); drawCards(companion); });
  };
  companion.addEventListener("changed", draw);
  for (const name of MACROS) registerMacro?.(name, () => withoutMacros(companion.macros?.[name] ?? ""), "What Loci remembers");
  const on = (type, action) => type && eventSource.on(type, (...given) => { action(...given); });
  const soon = () => { companion.reconcileSoon(); draw(); };
  on(eventTypes.CHAT_CHANGED, () => { companion.follow(); draw(); });
  on(eventTypes.CHAT_RENAMED, (names) => companion.chatRenamed(names));
  on(eventTypes.CHARACTER_RENAMED, (from, to) => companion.characterRenamed(from, to));
  for (const type of [
    "MESSAGE_SENT", "MESSAGE_RECEIVED", "MESSAGE_EDITED", "MESSAGE_UPDATED", "MESSAGE_DELETED", "MESSAGE_SWIPED",
    "MESSAGE_SWIPE_DELETED", "GENERATION_ENDED", "GENERATION_STOPPED", "USER_MESSAGE_RENDERED", "MORE_MESSAGES_LOADED",
  ]) on(eventTypes[type], soon);
  on(eventTypes.GROUP_UPDATED, () => companion.mirror && companion.follow());
  setInterval(() => { companion.reconcileSoon(); drawCards(companion); }, LOOK);
  globalThis.lociGenerateInterceptor = async (_chat, contextSize, _abort, type) => companion.remember(contextSize, type);
  companion.connect();
}

const { eventSource, eventTypes } = getContext();
eventSource.on(eventTypes.APP_READY, start);
