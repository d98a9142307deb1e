import { test } from "./harness.mjs";
import { BEGINNING, Play } from "./play.mjs";
import { MemoryServer } from "./server.mjs";

const AT_A_TIME = 10; // most of a play is waiting

async function play(seed) {
  await new Play(new MemoryServer(...BEGINNING), seed, { steps: 60 }).run().catch((error) => {
    throw new Error(`seed ${seed}: ${error.stack ?? JSON.stringify(error)}`);
  });
}

for (let first = 1; first <= 30; first += AT_A_TIME) {
  const seeds = Array.from({ length: AT_A_TIME }, (_, n) => first + n);
  test(`several clients over a bad network end equal to the server, seeds from ${first}`, async () => {
    await Promise.all(seeds.map(play));
  });
}
