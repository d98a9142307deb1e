// Run calls by WebLLM, which is loaded here and nowhere else: it is large.

/**
 * Return a prompt in the order that WebLLM demands: one system message, which comes first, and a user's message at the
 * end. System messages further below become the user's.
 * @param {{role: string, content: string}[]} messages
 */
export function ordered(messages) {
  const found = messages.findIndex(({ role }) => role !== "system");
  const start = found < 0 ? messages.length : found;
  const system = messages.slice(0, start).map(({ content }) => content).join("\n\n");
  const rest = messages.slice(start).map(({ role, content }) => ({ role: role === "system" ? "user" : role, content }));
  if (rest.at(-1)?.role !== "user") rest.push({ role: "user", content: "Continue." });
  return system ? [{ role: "system", content: system }, ...rest] : rest;
}

/**
 * Load a model. Return `run`, which runs calls by it, and `unload`, which frees its memory.
 * @param {{url: string, model: string, context: number, onProgress: (report: {progress: number}) => void}} options
 */
export async function loadWebLLM({ url, model, context, onProgress }) {
  const { CreateMLCEngine } = await import(url);
  const options = { context_window_size: context };
  const engine = await CreateMLCEngine(model, { initProgressCallback: onProgress }, options);
  let loaded = model;
  const run = async (request, { signal, progress }) => {
    // The choice may have changed in another tab.
    if (request.model !== loaded) await engine.reload(request.model, options);
    loaded = request.model;
    signal.throwIfAborted(); // while the model was loaded
    return write(engine, request, signal, progress).catch((error) => {
      throw Object.assign(error, { refused: error.name === "ContextWindowSizeExceededError" });
    });
  };
  return { run, unload: () => engine.unload() };
}

/**
 * Return what WebLLM is asked, with the person's further parameters, of which null leaves one out. WebLLM has no field
 * for top-k and min-p, and refuses a top-p of 0, which means the likeliest token, as a temperature of 0 does.
 */
export function completionRequest({ messages, max_tokens, temperature, top_p, repetition_penalty, stop, extra_body }) {
  const fields = {
    max_tokens,
    temperature: top_p === 0 ? 0 : temperature,
    top_p: top_p || null,
    repetition_penalty,
    stop: stop.length ? stop : null,
    ...extra_body,
  };
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
  return { ...given, messages: ordered(messages), stream: true, stream_options: { include_usage: true } };
}

async function write(engine, request, signal, progress) {
  signal.addEventListener("abort", () => engine.interruptGenerate());
  const chunks = await engine.chat.completions.create(completionRequest(request));
  const reply = { text: "", cut_off: false };
  for await (const { choices: [choice], usage } of chunks) {
    reply.text += choice?.delta?.content ?? "";
    reply.cut_off ||= choice?.finish_reason === "length";
    if (usage) Object.assign(reply, { prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens });
    progress(reply.text);
  }
  return reply;
}
