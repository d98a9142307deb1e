import { applySplice, codePoints, mergeText, spliceBetween } from "../../static/js/sync/text.js";
import { equal, ok, seeded, test } from "./harness.mjs";

const PIECES = ["a", "b", " ", "word", "😀", "👩‍👩‍👧", "é", "e\u0301", "汉", "\n", "🇩🇪"];

const textOf = (random, most) =>
  Array.from({ length: Math.floor(random() * most) }, () => PIECES[Math.floor(random() * PIECES.length)]).join("");

test("a splice makes the new text of the old one, in code points", () => {
  const random = seeded(1);
  for (let n = 0; n < 2000; n += 1) {
    const [before, after] = [textOf(random, 12), textOf(random, 12)];
    const splice = spliceBetween(before, after);
    equal(applySplice(before, splice), after);
    ok(splice.at + splice.delete <= codePoints(before));
    ok(splice.insert.isWellFormed(), "no half of a character is sent");
  }
});

test("positions count emoji once and combining marks by themselves", () => {
  equal(spliceBetween("😀 one", "😀 two"), { at: 2, delete: 3, insert: "two" });
  equal(spliceBetween("😀", "😁"), { at: 0, delete: 1, insert: "😁" });
  equal(spliceBetween("cafe", "cafe\u0301"), { at: 4, delete: 0, insert: "\u0301" });
  equal(spliceBetween("aaa", "aa"), { at: 2, delete: 1, insert: "" });
});

test("changes in different places merge", () => {
  equal(mergeText("one two three", "ONE two three", "one two THREE"), "ONE two THREE");
  equal(mergeText("one two three four", "one three four", "one two three four five"), "one three four five");
  equal(mergeText("a b c d e", "A b c d E", "a b C d e"), "A b C d E");
  equal(mergeText("😀 smile 👩‍👩‍👧", "😁 smile 👩‍👩‍👧", "😀 smile 👩‍👩‍👦"), "😁 smile 👩‍👩‍👦");
});

test("changes in the same place do not", () => {
  equal(mergeText("one two", "one 2", "one zwei"), null);
  equal(mergeText("one two", "one two mine", "one two theirs"), null);
  equal(mergeText("one two", "one", "one 2"), null);
  equal(mergeText("", "mine", "theirs"), null);
});

test("the same change made by both counts once", () => {
  equal(mergeText("one two three", "one 2 three", "one 2 three four"), "one 2 three four");
  equal(mergeText("one", "two", "two"), "two");
});

test("a merge does not depend on the side, and with one side unchanged it is the other", () => {
  const random = seeded(2);
  for (let n = 0; n < 1000; n += 1) {
    const [base, mine, theirs] = [textOf(random, 20), textOf(random, 20), textOf(random, 20)];
    equal(mergeText(base, mine, base), mine);
    equal(mergeText(base, base, theirs), theirs);
    equal(mergeText(base, mine, theirs), mergeText(base, theirs, mine));
  }
});
