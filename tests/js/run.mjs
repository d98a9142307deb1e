// Runs the tests in node: all, or those whose names have a word in them.
import { readdirSync } from "node:fs";
import { names, run } from "./harness.mjs";

const here = new URL(".", import.meta.url);
for (const file of readdirSync(here).filter((name) => name.endsWith(".test.mjs"))) await import(new URL(file, here));
let failed = 0;
for (const name of names().filter((name) => name.includes(process.argv[2] ?? ""))) {
  const failure = await run(name);
  console.log(failure ? `FAILED ${name}\n${failure}` : `ok ${name}`);
  if (failure) failed += 1;
}
process.exit(failed ? 1 : 0);
