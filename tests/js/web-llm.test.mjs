import { completionRequest } from "../../static/js/browser-model/web-llm.js";
import { equal, test } from "./harness.mjs";

const REQUEST = {
  task: "reply",
  model: "tiny",
  messages: [{ role: "user", content: "Hello." }],
  max_tokens: 300,
  temperature: 0.7,
  top_p: 0.9,
  top_k: 40,
  min_p: 0.1,
  repetition_penalty: 1.1,
  stop: ["END"],
  extra_body: {},
};

const parameters = (changes = {}) => {
  const { messages, stream, stream_options, ...rest } = completionRequest({ ...REQUEST, ...changes });
  equal([messages, stream, stream_options], [REQUEST.messages, true, { include_usage: true }]);
  return rest;
};

test("WebLLM is asked with what a preset says, but for what it has no field", () => {
  const all = { max_tokens: 300, temperature: 0.7, top_p: 0.9, repetition_penalty: 1.1, stop: ["END"] };
  equal(parameters(), all);
  equal(parameters({ top_p: null, repetition_penalty: null, stop: [] }), { max_tokens: 300, temperature: 0.7 });
});

test("further parameters are merged, and null leaves one out", () => {
  const extra_body = { frequency_penalty: 0.3, presence_penalty: 0.2, seed: 7, top_p: null, stop: ["X"] };
  equal(parameters({ repetition_penalty: null, extra_body }), {
    max_tokens: 300, temperature: 0.7, frequency_penalty: 0.3, presence_penalty: 0.2, seed: 7, stop: ["X"],
  });
});

test("a top-p of 0 is a temperature of 0, since WebLLM refuses it", () => {
  equal(parameters({ top_p: 0, repetition_penalty: null, stop: [] }), { max_tokens: 300, temperature: 0 });
});
