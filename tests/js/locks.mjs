/** Web Locks of one browser, for tests that play several browsers. */
export class MemoryLocks {
  #queues = new Map();

  async request(name, options, task) {
    if (typeof options === "function") return this.request(name, {}, options);
    const queue = this.#queues.get(name) ?? [];
    this.#queues.set(name, queue);
    if (options.ifAvailable && queue.length) return task(null);
    let release;
    const before = queue.at(-1);
    const own = new Promise((resolve) => { release = resolve; });
    queue.push(own);
    try {
      await before;
      if (options.signal?.aborted) throw new Error("aborted");
      return await task({ name });
    } finally {
      queue.splice(queue.indexOf(own), 1);
      release();
    }
  }
}
