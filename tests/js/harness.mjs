// Tests that run in node and in a browser alike: `node tests/js/run.mjs [word]`, or by tests/e2e/test_sync_client.py.
const tests = [];

export const test = (name, run) => tests.push({ name, run });

export const names = () => tests.map(({ name }) => name);

/** Run one test. @returns {Promise<string>} what went wrong; empty if nothing did */
export async function run(name) {
  try {
    await tests.find((test) => test.name === name).run();
    return "";
  } catch (error) {
    return error?.stack ?? JSON.stringify(error);
  }
}

const sorted = (value) => {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
};

export function equal(actual, expected, about = "") {
  const [a, b] = [actual, expected].map((value) => JSON.stringify(sorted(value)));
  if (a !== b) throw new Error(`${about} expected ${b}, got ${a}`);
}

export function ok(value, about = "that") {
  if (!value) throw new Error(`${about} is not so`);
}

/** Wait until `holds()`. */
export async function until(holds, about = String(holds)) {
  for (let n = 0; n < 1000; n += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`never: ${about}`);
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The next detail of an event. */
export const next = (target, type) =>
  new Promise((resolve) => target.addEventListener(type, ({ detail }) => resolve(detail), { once: true }));

/** Numbers from 0 to 1 that a seed determines (mulberry32). */
export function seeded(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
