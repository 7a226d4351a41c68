// Requests to the service; whatever fails becomes one sentence.
import { askToken, forgetToken, token } from "./token.js";

// Relative to this file, so that the page works below any address of a proxy.
const ROOT = new URL("../../v1/", import.meta.url);
const BUSY = [429, 503];

/** What went wrong, in one sentence for the reader. */
export class ApiError extends Error {
  constructor(status, sentence, wait = null) {
    super(sentence);
    this.status = status;
    this.wait = wait;
  }

  get busy() {
    return BUSY.includes(this.status);
  }
}

/** Ask the service and return its answer. */
export async function ask(path, { body, query = {}, signal, keepalive = false } = {}) {
  for (;;) {
    const sent = token();
    const answer = await send(path, { body, query, signal, keepalive, sent });
    if (answer.status !== 401) return read(answer);
    if (sent !== null && sent === token()) forgetToken();
    if (!(await askToken(sent !== null)))
      throw new ApiError(401, "The service asks for a token; reload the page to enter it.");
  }
}

async function send(path, { body, query, signal, keepalive, sent }) {
  const address = new URL(path, ROOT);
  for (const [name, value] of Object.entries(query)) if (value != null) address.searchParams.set(name, value);
  const headers = { Accept: "application/json" };
  if (body) headers["Content-Type"] = "application/json";
  if (sent !== null) headers.Authorization = `Bearer ${sent}`;
  try {
    return await fetch(address, {
      method: body ? "POST" : "GET",
      headers,
      signal,
      keepalive,
      body: body && JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The service does not answer; check that it is running, then try again.");
  }
}

async function read(answer) {
  const found = await answer.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return null;
  });
  if (answer.ok && found !== null) return found;
  throw new ApiError(
    answer.status,
    sentenceOf(answer.status, found),
    readWait(answer.headers.get("Retry-After")),
  );
}

function sentenceOf(status, found) {
  if (BUSY.includes(status) && !found?.detail) return "The service is busy; try again in a moment.";
  if (typeof found?.detail !== "string" || !found.detail) {
    return `The service answered with an error (${status}); try again, or ask whoever runs it.`;
  }
  const sentence = found.detail[0].toUpperCase() + found.detail.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** Return the seconds of Retry-After, which may be a number or a date; null where there is none. */
export function readWait(text, now = Date.now()) {
  if (!text) return null;
  if (/^\d+(\.\d+)?$/.test(text.trim())) return Number(text);
  const until = Date.parse(text);
  return Number.isNaN(until) ? null : Math.max(0, (until - now) / 1000);
}

/** Do something again while the service is busy, as late as it asks. */
export async function patiently(act, { tries = 6, signal, onWait = () => {} } = {}) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await act();
    } catch (error) {
      const again = error instanceof ApiError && (error.busy || error.status === 0);
      if (!again || attempt >= tries) throw error;
      const seconds = error.wait ?? Math.min(30, 2 ** (attempt - 1));
      onWait(seconds);
      await pause(seconds, signal);
    }
  }
}

/** Wait some seconds, or until `signal` says stop. */
export function pause(seconds, signal) {
  return new Promise((done, stop) => {
    signal?.throwIfAborted();
    const timer = setTimeout(done, 1000 * seconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), stop(signal.reason)), { once: true });
  });
}

/** Return whether an error only says that nobody waits for the answer any more. */
export const isAbort = (error) => error?.name === "AbortError";
