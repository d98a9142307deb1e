// Where unsent edits are kept: records by name. Both classes have the same four methods, and an own one may be given.

/** Kept while the object lives: for tests, and where there is nothing better. */
export class MemoryStorage {
  #records = new Map();

  /** @param {string} name @returns {Promise<any>} */
  async get(name) {
    return this.#records.has(name) ? JSON.parse(this.#records.get(name)) : undefined;
  }

  /** @param {string} name @param {any} record of JSON @returns {Promise<void>} */
  async put(name, record) {
    this.#records.set(name, JSON.stringify(record));
  }

  /** @param {string} name @returns {Promise<void>} */
  async delete(name) {
    this.#records.delete(name);
  }

  /** @param {string} prefix @returns {Promise<string[]>} the names that begin with it */
  async names(prefix) {
    return [...this.#records.keys()].filter((name) => name.startsWith(prefix));
  }
}

/** Kept by the browser over reloads and crashes. */
export class IndexedStorage {
  #database;
  #name;

  /** @param {string} [name] of the database */
  constructor(name = "loci-sync") {
    this.#name = name;
  }

  get(name) {
    return this.#run("readonly", (store) => store.get(name));
  }

  put(name, record) {
    return this.#run("readwrite", (store) => store.put(record, name));
  }

  delete(name) {
    return this.#run("readwrite", (store) => store.delete(name));
  }

  names(prefix) {
    return this.#run("readonly", (store) => store.getAllKeys(IDBKeyRange.bound(prefix, `${prefix}\uffff`)));
  }

  async #run(mode, action) {
    const database = await (this.#database ??= this.#open());
    return new Promise((resolve, reject) => {
      const transaction = database.transaction("unsent", mode, { durability: "strict" });
      const request = action(transaction.objectStore("unsent"));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = transaction.onerror = () => reject(transaction.error ?? request.error);
    });
  }

  #open() {
    return new Promise((resolve, reject) => {
      const request = indexedDB.open(this.#name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore("unsent");
      request.onerror = () => { this.#database = undefined; reject(request.error); };
      request.onsuccess = () => {
        // Closed by the browser or for a newer version: the next use opens it again.
        request.result.onclose = () => { this.#database = undefined; };
        request.result.onversionchange = () => { request.result.close(); this.#database = undefined; };
        resolve(request.result);
      };
    });
  }
}
