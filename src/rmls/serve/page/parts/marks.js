// Words marked in a text, for a label and against it.
import { h } from "./dom.js";
import { signed } from "./numbers.js";

/** Return the pieces of a text: words with parts, and what stands between them. */
export function pieces(text, words) {
  // The service counts characters, JavaScript counts halves of surrogate pairs.
  const characters = Array.from(text);
  const cut = (start, end) => characters.slice(start, end).join("");
  const sorted = words.filter((word) => word.end > word.start).sort((a, b) => a.start - b.start);
  const found = [];
  let place = 0;
  for (const { start, end, part } of sorted) {
    if (start < place || end > characters.length) continue;
    if (start > place) found.push({ text: cut(place, start), part: 0 });
    found.push({ text: cut(start, end), part });
    place = end;
  }
  if (place < characters.length) found.push({ text: cut(place), part: 0 });
  return found;
}

/** Return a paragraph with its words marked; `largest` is the part with the strongest colour. */
export function markedText(text, words, largest) {
  return h(
    "p",
    {},
    pieces(text, words).map((piece) => {
      const share = Math.abs(piece.part) / largest;
      if (!(share > 0.06)) return piece.text;
      return h(
        "mark",
        {
          class: piece.part > 0 ? "for" : "against",
          title: signed(piece.part),
          vars: { "--strength": `${Math.round(12 + 58 * Math.min(1, share))}%` },
        },
        piece.text,
      );
    }),
  );
}

/** Return every different word with all that it adds, strongest first. */
export function addUp(words) {
  const sums = new Map();
  for (const { text, part } of words) {
    const key = text.toLowerCase();
    sums.set(key, (sums.get(key) ?? 0) + part);
  }
  return [...sums].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
}
