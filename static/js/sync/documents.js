// JSON documents: equality, merge patches (RFC 7396) and their leaves.

export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Equal as JSON values, whatever the order of keys; undefined counts as null. */
export function same(a, b) {
  a ??= null;
  b ??= null;
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, n) => same(item, b[n]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

/** `target` with the merge patch applied, as a new value. @returns {any} */
export function mergePatch(target, patch) {
  if (!isObject(patch)) return patch;
  const merged = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  // Not by assignment: a key may be "__proto__".
  return Object.fromEntries(merged);
}

/** The merge patch that makes `after` of `before`, both objects without nulls. */
export function patchBetween(before, after) {
  const patch = [];
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch.push([key, null]);
  for (const [key, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    if (isObject(old) && isObject(value)) {
      if (!same(old, value)) patch.push([key, patchBetween(old, value)]);
    } else if (old === undefined || !same(old, value)) patch.push([key, value]);
  }
  return Object.fromEntries(patch);
}

/**
 * The single places that a merge patch writes to; a null value deletes.
 * @returns {{path: string[], value: any}[]}
 */
export function leavesOf(patch, path = []) {
  return Object.entries(patch).flatMap(([key, value]) =>
    isObject(value) && Object.keys(value).length > 0
      ? leavesOf(value, [...path, key])
      : [{ path: [...path, key], value }]);
}

/** The merge patch that writes `value` at `path`. */
export const patchAt = (path, value) => path.reduceRight((inner, key) => Object.fromEntries([[key, inner]]), value);

/** The value at `path`; null where there is none. */
export function valueAt(document, path) {
  let value = document;
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return null;
    value = value[key];
  }
  return value ?? null;
}

/** The value at a path, in a list, as null is a value too; empty where there is none. @returns {any[]} */
export function entryAt(document, path) {
  const [namespace, key] = path;
  const data = document[namespace];
  return isObject(data) && Object.hasOwn(data, key) ? [data[key]] : [];
}

/**
 * `document` with an entry as `entryAt` returns it. A namespace without keys is removed.
 * @param {object} document @param {string[]} path @param {any[]} entry @returns {object}
 */
export function withEntry(document, path, entry) {
  const [namespace, key] = path;
  const data = isObject(document[namespace]) ? document[namespace] : {};
  const kept = Object.entries(data).filter(([other]) => other !== key);
  const now = Object.fromEntries([...kept, ...entry.map((value) => [key, value])]);
  const rest = Object.entries(document).filter(([other]) => other !== namespace);
  return Object.fromEntries(Object.keys(now).length ? [...rest, [namespace, now]] : rest);
}

/** Whether one of two paths lies within the other. */
export const related = (a, b) => a.slice(0, b.length).every((key, n) => key === b[n]);
