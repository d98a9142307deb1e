// Differences between texts, and the merge of two. Positions on the wire are Unicode code points, in here UTF-16.

// Words with their marks, emoji sequences and blanks stay whole, so that a merge never cuts through one.
// The joiner and the variation selector are meant to stand alone here.
// eslint-disable-next-line no-misleading-character-class
const TOKEN = /[\p{L}\p{M}\p{N}_\u200d\ufe0f\u{1F000}-\u{1FAFF}]+|\s+|[^]/gu;
const MAX_CELLS = 2_000_000; // of the table of the longest common subsequence; larger differences count as one

/** @param {string} text @returns {number} */
export function codePoints(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

const splitsPair = (text, at) => /[\uD800-\uDBFF]/.test(text[at - 1] ?? "") && /[\uDC00-\uDFFF]/.test(text[at] ?? "");

function commonPrefix(a, b) {
  const most = Math.min(a.length, b.length);
  let n = 0;
  while (n < most && a[n] === b[n]) n += 1;
  return splitsPair(a, n) || splitsPair(b, n) ? n - 1 : n;
}

function commonSuffix(a, b, most) {
  let n = 0;
  while (n < most && a[a.length - 1 - n] === b[b.length - 1 - n]) n += 1;
  return splitsPair(a, a.length - n) || splitsPair(b, b.length - n) ? n - 1 : n;
}

/**
 * The one splice that makes `after` of `before`, in code points.
 * @param {string} before @param {string} after @returns {{at: number, delete: number, insert: string}}
 */
export function spliceBetween(before, after) {
  const start = commonPrefix(before, after);
  const end = commonSuffix(before, after, Math.min(before.length, after.length) - start);
  return {
    at: codePoints(before.slice(0, start)),
    delete: codePoints(before.slice(start, before.length - end)),
    insert: after.slice(start, after.length - end),
  };
}

/** @param {string} text @param {{at: number, delete: number, insert: string}} splice @returns {string} */
export function applySplice(text, splice) {
  const points = Array.from(text);
  points.splice(splice.at, splice.delete, splice.insert);
  return points.join("");
}

/**
 * What both sides made of `base`, or null where both changed the same place differently.
 * @param {string} base @param {string} mine @param {string} theirs @returns {string | null}
 */
export function mergeText(base, mine, theirs) {
  if (mine === theirs || theirs === base) return mine;
  if (mine === base) return theirs;
  const tokens = base.match(TOKEN) ?? [];
  const hunks = joinHunks(hunksOf(tokens, mine), hunksOf(tokens, theirs));
  if (!hunks) return null;
  const parts = [];
  let at = 0;
  for (const { start, end, text } of hunks) {
    parts.push(...tokens.slice(at, start), text);
    at = end;
  }
  return [...parts, ...tokens.slice(at)].join("");
}

/** The hunks of both sides in order; null where two meet. The same change made by both counts once. */
function joinHunks(ours, others) {
  const all = [...ours];
  for (const hunk of others) {
    const met = ours.filter((own) => meets(own, hunk));
    if (met.length === 0) all.push(hunk);
    else if (!met.every((own) => own.start === hunk.start && own.end === hunk.end && own.text === hunk.text)) return null;
  }
  return all.sort((a, b) => a.start - b.start || a.end - b.end);
}

function meets(a, b) {
  if (a.start === b.start) return true;
  const [first, second] = a.start < b.start ? [a, b] : [b, a];
  // Something put in right behind a change is at the same place as that change.
  return second.start < first.end || (second.start === first.end && second.start === second.end);
}

/** @returns {{start: number, end: number, text: string}[]} what replaces the tokens from start to end */
function hunksOf(before, text) {
  const after = text.match(TOKEN) ?? [];
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const a = before.slice(head, before.length - tail);
  const b = after.slice(head, after.length - tail);
  if (a.length === 0 && b.length === 0) return [];
  if (a.length * b.length > MAX_CELLS) return [{ start: head, end: head + a.length, text: b.join("") }];
  return walk(a, b, lengths(a, b), head);
}

/** Of the longest common subsequences of all tails of `a` and `b`. */
function lengths(a, b) {
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      table[i * width + j] = a[i] === b[j]
        ? table[(i + 1) * width + j + 1] + 1
        : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  return table;
}

function walk(a, b, table, head) {
  const width = b.length + 1;
  const hunks = [];
  let open = null;
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      open = null;
      [i, j] = [i + 1, j + 1];
      continue;
    }
    if (!open) hunks.push((open = { start: head + i, end: head + i, text: "" }));
    if (j === b.length || (i < a.length && table[(i + 1) * width + j] >= table[i * width + j + 1])) {
      i += 1;
      open.end = head + i;
    } else {
      open.text += b[j];
      j += 1;
    }
  }
  return hunks;
}
