/** The address that a Loci writes here into the ZIP file which it serves. */
export const SERVER = "http://127.0.0.1:8000";
