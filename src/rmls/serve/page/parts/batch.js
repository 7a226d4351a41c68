// Labels for many texts: batches that fit into requests, again where the service is busy.
import { ApiError, ask, patiently } from "./api.js";

const MAX_TEXTS = 50;
const MAX_CHARACTERS = 400_000;

const sizeOf = (text) => (typeof text === "string" ? text.length : Object.values(text).join("").length);
const isEmpty = (text) => (typeof text === "string" ? !text.trim() : !Object.values(text).join("").trim());

/** Return [start, end) of batches that are neither long nor many. */
export function cut(texts, maxTexts = MAX_TEXTS, maxCharacters = MAX_CHARACTERS) {
  const batches = [];
  let start = 0;
  let size = 0;
  texts.forEach((text, place) => {
    const more = sizeOf(text);
    if (place > start && (place - start >= maxTexts || size + more > maxCharacters)) {
      batches.push([start, place]);
      start = place;
      size = 0;
    }
    size += more;
  });
  if (texts.length) batches.push([start, texts.length]);
  return batches;
}

/**
 * Ask for suggestions of all texts.
 *
 * `onResults(start, results)` gets them as they come, null for a text that the service refused;
 * empty texts are not sent and have no suggestions.
 */
export async function suggestAll(texts, options, { signal, onResults, onWait }) {
  const waiting = cut(texts).reverse();
  while (waiting.length) {
    const [start, end] = waiting.pop();
    const batch = texts.slice(start, end);
    const full = batch.filter((text) => !isEmpty(text));
    try {
      const found = full.length ? await request(full, options, { signal, onWait }) : [];
      let next = 0;
      onResults(
        start,
        batch.map((text) => (isEmpty(text) ? [] : found[next++].suggestions)),
      );
    } catch (error) {
      const refused = error instanceof ApiError && [400, 413, 422].includes(error.status);
      if (!refused) throw error;
      // One bad text must not cost its neighbours their labels: halves, until it is alone.
      if (end - start === 1) onResults(start, [null], error);
      else waiting.push([(start + end) >> 1, end], [start, (start + end) >> 1]);
    }
  }
}

async function request(texts, options, { signal, onWait }) {
  const body = { ...options, texts };
  const { results } = await patiently(() => ask("suggest", { body, signal }), { tries: 10, signal, onWait });
  return results;
}
