import { leavesOf, mergePatch, patchAt, patchBetween, related, same, valueAt } from "../../static/js/sync/documents.js";
import { placeAfter } from "../../static/js/sync/messages.js";
import { patchesOf, firstBatch, mergePatchOf } from "../../static/js/sync/patches.js";
import { rebase } from "../../static/js/sync/rebase.js";
import { Replica } from "../../static/js/sync/replica.js";
import { EventParser } from "../../static/js/sync/live.js";
import { backoff, newKey, retryAfter } from "../../static/js/sync/transport.js";
import { equal, ok, seeded, test } from "./harness.mjs";

const messages = (...ids) => ids.map((id, index) => ({ id, index, rev: 1, mes: id }));
const touch = (...list) => new Map(list.map((message) => [message.id, message]));
const ids = (replica) => replica.messages.map(({ id, index }) => `${id}${index}`).join(" ");

function whole(...names) {
  const replica = new Replica();
  replica.show({ from: 0, total: names.length, messages: messages(...names) });
  return replica;
}

test("merge patches as in RFC 7396", () => {
  equal(mergePatch({ a: { b: 1, c: 2 } }, { a: { b: null, d: [1] } }), { a: { c: 2, d: [1] } });
  equal(mergePatch({ a: "text" }, { a: { b: { c: null } } }), { a: { b: {} } });
  equal(mergePatch([1], { a: 1 }), { a: 1 });
  equal(Object.keys(mergePatch({}, JSON.parse('{"__proto__": 1}'))), ["__proto__"]);
});

test("the patch between two documents leads from one to the other", () => {
  const [before, after] = [{ a: 1, b: { c: 1, d: [1] }, e: 1 }, { a: 1, b: { c: 2, d: [1] }, f: { g: 1 } }];
  equal(patchBetween(before, after), { b: { c: 2 }, e: null, f: { g: 1 } });
  equal(mergePatch(before, patchBetween(before, after)), after);
});

test("leaves of a patch, written one by one, are the patch", () => {
  const patch = { a: { b: null, c: [1] }, d: {}, e: "x" };
  equal(leavesOf(patch).map(({ path }) => path.join(".")), ["a.b", "a.c", "d", "e"]);
  equal(mergePatchOf(leavesOf(patch)), patch);
  equal(patchAt(["a", "b"], 1), { a: { b: 1 } });
  equal([valueAt({ a: { b: 1 } }, ["a", "b"]), valueAt({}, ["a", "b"])], [1, null]);
  ok(related(["a", "b"], ["a"]) && related(["a"], ["a", "b"]) && !related(["a", "b"], ["a", "c"]));
  ok(same({ a: 1, b: [{}] }, { b: [{}], a: 1 }) && !same({ a: 1 }, { b: 1 }));
});

test("changes are applied as one set: inserts, moves and deletions", () => {
  const replica = whole("a", "b", "c", "d");
  // c went to the front, b was deleted, x was put in before d
  const moved = { id: "c", index: 0, mes: "c" };
  const added = { id: "x", index: 2, mes: "x" };
  ok(replica.apply(touch(added, moved), new Set(["b"])));
  equal(ids(replica), "c0 a1 x2 d3");
});

test("random writes told by their set lead to the same list", () => {
  const random = seeded(3);
  const pick = (n) => Math.floor(random() * n);
  for (let round = 0; round < 300; round += 1) {
    const replica = whole("a", "b", "c", "d", "e");
    const list = ["a", "b", "c", "d", "e"];
    const [touched, deleted] = [new Set(), new Set()];
    for (let n = 0; n < 6; n += 1) {
      const kind = list.length ? pick(4) : 0;
      const at = pick(list.length);
      if (kind === 0) { list.splice(at, 0, `n${n}`); touched.add(`n${n}`); }
      else if (kind === 1) { const [gone] = list.splice(at, 1); deleted.add(gone); touched.delete(gone); }
      else if (kind === 2) { const [it] = list.splice(at, 1); list.splice(pick(list.length + 1), 0, it); touched.add(it); }
      else touched.add(list[at]);
    }
    const now = [...touched].map((id) => ({ id, index: list.indexOf(id) }));
    replica.apply(touch(...now), deleted);
    equal(replica.messages.map(({ id }) => id), list);
  }
});

test("a window knows when it can't tell what happened before it", () => {
  const window = () => {
    const replica = new Replica();
    replica.show({ from: 2, total: 4, messages: messages("a", "b", "c", "d").slice(2) });
    return replica;
  };
  ok(window().apply(touch({ id: "c", index: 2, mes: "new" }), new Set()));
  ok(!window().apply(touch({ id: "x", index: 0 }), new Set()), "an insert before it");
  ok(!window().apply(new Map(), new Set(["a"])), "a deletion before it");
  const replica = window();
  ok(replica.apply(touch({ id: "e", index: 4 }, { id: "f", index: 5 }), new Set()));
  equal([ids(replica), replica.total], ["c2 d3 e4 f5", 6]);
});

const field = (more) => ({ type: "field", id: "a", field: "mes", swipe: 0, active: 0, text: "one two", base: "one two", state: "waiting", ...more });
const now = (swipes, active = 0) => ({ id: "a", index: 0, mes: swipes[active], swipes, swipe_id: active, swipe_info: swipes.map(() => ({})) });
const unknown = () => undefined;
const delta = (message) => ({ touched: touch(message), deleted: new Set(), metadata: null, survivor: () => null });

test("edits are rebased in their order, each on what the one before made", () => {
  const edits = [field({ value: "ONE two" }), field({ base: "ONE two", text: "ONE two", value: "so ONE two" })];
  equal(rebase(edits, delta(now(["one two three"]))).conflicts, []);
  equal(edits.map(({ base, value }) => [base, value]), [
    ["one two three", "ONE two three"], ["ONE two three", "so ONE two three"],
  ]);
});

test("an edit whose text arrived by another way is done", () => {
  const edits = [field({ value: "ONE two" })];
  equal(rebase(edits, delta(now(["ONE two"]))).done.length, 1);
});

test("an edit stays with its swipe when another one was made active", () => {
  const edits = [field({ value: "ONE two" })];
  rebase(edits, delta(now(["zero", "one two", "three"], 2)));
  equal(patchesOf(edits, () => 0, unknown), [{ id: "a", swipe_id: 1, set: { mes: "ONE two" } }, { id: "a", swipe_id: 2 }]);
});

test("which swipe is active is told by the message and not by what an edit noted", () => {
  const edits = [{ type: "swipe_id", id: "a", value: 0 }, field({ swipe: 1, active: 1, value: "ONE two" })];
  const known = () => now(["zero", "one two"], 1);
  equal(patchesOf(edits, () => 0, known), [
    { id: "a", swipe_id: 0 }, { id: "a", swipe_id: 1, set: { mes: "ONE two" } }, { id: "a", swipe_id: 0 },
  ]);
  // Where the message isn't known, the swipe is named: another one may be active by now.
  equal(patchesOf([field({ swipe: 1, active: 1, value: "ONE two" })], () => 0, unknown), [
    { id: "a", swipe_id: 1, set: { mes: "ONE two" } },
  ]);
});

test("an edit that was set aside follows what was done to the swipes after it, also where the message isn't known", () => {
  const place = { swipe: 1, active: 1 };
  equal(placeAfter(place, { type: "delete_swipe", value: 0 }), { swipe: 0, active: 0 });
  equal(placeAfter(place, { type: "delete_swipe", value: 2 }), place);
  equal(placeAfter(place, { type: "delete_swipe", value: 1 }).swipe, undefined);
  equal(placeAfter(place, { type: "swipe_order", value: [1, 0] }), { swipe: 0, active: 0 });
  equal(placeAfter(place, { type: "swipe_id", value: 0 }), { swipe: 1, active: 0 });
});

test("the last swipe of a message is not deleted", () => {
  const edit = { type: "delete_swipe", id: "a", value: 0, text: "one two", state: "waiting" };
  equal(rebase([edit], delta(now(["one two"]))).done, [edit]);
});

test("a deletion does not take a changed text with it", () => {
  const edit = { type: "delete", id: "a", base: "one two", texts: ["one two"], value: null, state: "waiting" };
  equal(rebase([edit], delta(now(["one 2"]))).conflicts, [edit]);
  equal(edit.theirs, "one 2");
  equal(rebase([{ ...edit, state: "waiting" }], delta(now(["one two"]))).conflicts, []);
});

test("patches are small, and those of one message go together", () => {
  const long = "x".repeat(500);
  const edits = [
    field({ base: `${long} a`, value: `${long} b` }),
    { ...field(), field: "is_system", base: false, value: true },
    { type: "extra", id: "a", swipe: 0, active: 0, path: ["recap", "text"], value: "short" },
    field({ id: "b", base: "a", value: "b" }),
  ];
  equal(patchesOf(edits, () => 0, () => now([""])), [
    { id: "a", splice: { at: 501, delete: 1, insert: "b" }, set: { is_system: true }, extra: { recap: { text: "short" } } },
    { id: "b", set: { mes: "b" } },
  ]);
  equal(edits.map(({ patch }) => patch), [0, 0, 0, 1]);
});

test("a batch ends where what follows is a request of its own", () => {
  const edits = [field({ value: "1" }), { type: "delete", id: "b" }, { type: "append" }, { type: "metadata", path: ["a"] }];
  equal(firstBatch(edits).length, 2);
  equal(firstBatch(edits.slice(2)).length, 1);
  const crossing = [{ type: "metadata", path: ["a"], value: 5 }, { type: "metadata", path: ["a", "b"], value: 1 }];
  equal(firstBatch(crossing).length, 1);
});

test("waits grow with failures, up to a limit, and keys are UUIDs", () => {
  const limits = { base: 500, max: 30_000 };
  equal([1, 2, 3, 20].map((failures) => backoff(failures, limits, () => 1)), [500, 1000, 2000, 30_000]);
  equal(backoff(1, limits, () => 0), 250);
  equal([retryAfter("7"), retryAfter(null), retryAfter("soon")], [7000, undefined, undefined]);
  equal(retryAfter(new Date(5000).toUTCString(), 2000), 3000);
  ok(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(newKey()));
});

test("events are parsed however the stream is cut", () => {
  const text = ": hello\n\nretry: 2000\nevent: chat\ndata: {\"rev\":\ndata: 1}\n\n\r\ndata: x\r\n\r\n";
  for (let size = 1; size < text.length; size += 1) {
    const heard = [];
    const parser = new EventParser((name, data) => heard.push([name, data]));
    for (let at = 0; at < text.length; at += size) parser.feed(text.slice(at, at + size));
    equal(heard, [["", ""], ["retry", "2000"], ["chat", '{"rev":\n1}'], ["message", "x"]]);
  }
});
