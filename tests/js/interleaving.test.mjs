import { test } from "./harness.mjs";
import { BEGINNING, Play } from "./play.mjs";
import { MemoryServer } from "./server.mjs";

for (let seed = 1; seed <= 30; seed += 1) {
  test(`several clients over a bad network end equal to the server, seed ${seed}`, async () => {
    await new Play(new MemoryServer(...BEGINNING), seed, { steps: 60 }).run();
  });
}
