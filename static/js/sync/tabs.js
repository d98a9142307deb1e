// Which tab owns which record of unsent edits. Web Locks say so; where there are none, a record not renewed is free.

const LEASE = 15_000; // ms

/**
 * Own `name` until the returned function is called, or the page is gone.
 * @param {string} name @param {LockManager | null | undefined} locks
 * @param {() => void} renew writes the record again @returns {() => void}
 */
export function holdName(name, locks, renew) {
  if (locks) {
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    locks.request(`loci-edits:${name}`, () => held);
    return release;
  }
  const timer = setInterval(renew, LEASE / 3);
  keepNoProcess(timer);
  return () => clearInterval(timer);
}

/**
 * Call `take` once `name` has no owner any more: before this returns where that is so already, else later.
 * @param {string} name @param {LockManager | null | undefined} locks
 * @param {() => Promise<{seen: number} | undefined>} read reads its record
 * @param {() => Promise<void>} take @param {AbortSignal} signal gives up
 */
export async function whenFree(name, locks, read, take, signal) {
  if (locks) {
    const taken = await locks.request(`loci-edits:${name}`, { ifAvailable: true }, async (lock) => {
      if (lock) await take();
      return Boolean(lock);
    });
    if (!taken) locks.request(`loci-edits:${name}`, { signal }, take).catch(() => {});
    return;
  }
  const record = await read();
  if (!record || signal.aborted) return;
  if (Date.now() - record.seen > LEASE) await take();
  else keepNoProcess(setTimeout(() => whenFree(name, locks, read, take, signal), LEASE));
}

/** Let node end while the timer waits; browsers have no such thing. @param {any} timer */
function keepNoProcess(timer) {
  timer.unref?.();
}
