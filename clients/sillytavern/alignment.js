// Which of the messages shown now are which of those known before, told by what they say. Pure.

const signature = ({ is_user, name, send_date, mes }) => JSON.stringify([is_user, name, send_date, mes]);

/** Whether one may be a later version of the other: written at the same moment, or with a swipe in common. */
const isAlike = (a, b) => a.is_user === b.is_user
  && ((a.send_date !== "" && a.send_date === b.send_date) || a.swipes.some((text) => text !== "" && b.swipes.includes(text)));

/**
 * @param {import("./messages.js").Doc[]} before @param {import("./messages.js").Doc[]} now
 * @returns {Map<number, number>} index in `now` -> index in `before`, both ascending
 */
export function align(before, now) {
  const [old, fresh] = [before, now].map((docs) => docs.map(signature));
  const pairs = new Map();
  let end = 0; // of `before`, what is taken already
  const anchors = [...anchorsOf(old, fresh), [old.length, fresh.length]];
  let start = 0;
  for (const [o, f] of anchors) {
    pairGap(before, now, old, fresh, { from: [end, start], to: [o, f] }, pairs);
    if (o < old.length) pairs.set(f, o);
    [end, start] = [o + 1, f + 1];
  }
  return pairs;
}

/** Messages that stand once in both, as many of them as keep their order. @returns {number[][]} */
function anchorsOf(old, fresh) {
  const places = uniquePlaces(old);
  const both = [...uniquePlaces(fresh)].filter(([text]) => places.has(text)).map(([text, f]) => [places.get(text), f]);
  const kept = longestRising(both.map(([o]) => o));
  return kept.map((n) => both[n]);
}

function uniquePlaces(texts) {
  const counts = new Map();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return new Map(texts.flatMap((text, n) => (counts.get(text) === 1 ? [[text, n]] : [])));
}

/** Between two anchors: equal ones first, then those that are alike, each in order. */
function pairGap(before, now, old, fresh, { from, to }, pairs) {
  const free = { old: range(from[0], to[0]), fresh: range(from[1], to[1]) };
  const tests = [(o, f) => old[o] === fresh[f], (o, f) => isAlike(before[o], now[f])];
  for (const matches of tests) {
    for (const f of free.fresh) {
      const [low, high] = boundsOf(f, pairs, from, to);
      const found = free.old.find((o) => o >= low && o < high && matches(o, f));
      if (found === undefined || pairs.has(f)) continue;
      pairs.set(f, found);
      free.old = free.old.filter((o) => o !== found);
    }
  }
}

/** Where in `before` a message may be, so that pairs don't cross. */
function boundsOf(f, pairs, from, to) {
  let [low, high] = [from[0], to[0]];
  for (let n = f - 1; n >= from[1]; n -= 1) if (pairs.has(n)) { low = pairs.get(n) + 1; break; }
  for (let n = f + 1; n < to[1]; n += 1) if (pairs.has(n)) { high = pairs.get(n); break; }
  return [low, high];
}

const range = (from, to) => Array.from({ length: Math.max(to - from, 0) }, (_, n) => from + n);

/** Indexes of a longest rising subsequence of distinct numbers. @param {number[]} numbers @returns {number[]} */
export function longestRising(numbers) {
  const tails = []; // index of the smallest last number of a sequence of each length
  const previous = [];
  numbers.forEach((number, n) => {
    let [low, high] = [0, tails.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[tails[middle]] < number) low = middle + 1;
      else high = middle;
    }
    previous[n] = low > 0 ? tails[low - 1] : -1;
    tails[low] = n;
  });
  const kept = [];
  for (let n = tails.at(-1) ?? -1; n >= 0; n = previous[n]) kept.unshift(n);
  return kept;
}
