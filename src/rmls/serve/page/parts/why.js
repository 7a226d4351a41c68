// Why a label: words in the text, parts that add up to the score, training rows like it.
import { h, unique } from "./dom.js";
import { addUp, markedText } from "./marks.js";
import { count, percent, signed } from "./numbers.js";

const PARTS = {
  prior: "The label without any word",
  classifier: "Words, by what the label learned",
  vectors: "Words, by how close text and label are",
  names: "The name of the label in the text",
  dense: "The meaning of the text as a whole",
  boost: "Boost of rare labels",
  remainder: "Rounding",
};

/** Return what an explanation shows, for the texts by column that it is about. */
export function whyPanel(found, texts) {
  return h(
    "div",
    { class: "why" },
    !found.listed &&
      h(
        "p",
        { class: "note" },
        "This label is not on the short list for this text; the score is the one it would have.",
      ),
    words(found, texts),
    scoreChart(found),
    similarRows(found.similar_rows ?? []),
    h("p", { class: "more" }, h("a", { href: labelAddress(found.label) }, `More about “${found.label}”`)),
  );
}

/** Return the address of the page of a label. */
export const labelAddress = (label) => `#/label/${encodeURIComponent(label)}`;

function words(found, texts) {
  const columns = Object.keys(texts);
  const largest = Math.max(...found.words.map((word) => Math.abs(word.part)), 1e-9);
  const ofColumn = (column) =>
    columns.length === 1 ? found.words : found.words.filter((word) => word.field === column);
  const shown = columns.filter((column) => texts[column]);
  return [
    h("h3", {}, "Words"),
    h(
      "p",
      { class: "legend", "aria-hidden": "true" },
      h("mark", { class: "for", vars: { "--strength": "45%" } }, "speaks for it"),
      " ",
      h("mark", { class: "against", vars: { "--strength": "45%" } }, "speaks against it"),
    ),
    h(
      "div",
      { class: "marked", tabindex: "0", role: "group", "aria-label": "The text with its words marked" },
      shown.map((column) => [
        column && h("h4", {}, column),
        markedText(texts[column], ofColumn(column), largest),
      ]),
    ),
    wordTable(found.words),
  ];
}

function wordTable(all) {
  const sums = addUp(all).filter(([, part]) => Math.abs(part) >= 0.005);
  if (!sums.length) return h("p", { class: "note" }, "No word of the text matters much here.");
  const rows = sums
    .slice(0, 30)
    .map(([word, part]) =>
      h("tr", {}, h("th", { scope: "row" }, word), h("td", { class: "number" }, signed(part))),
    );
  return h(
    "details",
    {},
    h("summary", {}, "Words as numbers"),
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h("tr", {}, h("th", { scope: "col" }, "Word"), h("th", { scope: "col", class: "number" }, "Adds")),
      ),
      h("tbody", {}, rows),
    ),
    sums.length > 30 && h("p", { class: "note" }, `${count(sums.length - 30)} more add less.`),
  );
}

/** Return where each part begins and ends when they are laid one behind the other. */
export function layOut(parts, score) {
  let sum = 0;
  const steps = Object.entries(parts)
    .filter(([, part]) => Math.abs(part) >= 5e-4)
    .map(([name, part]) => {
      const from = sum;
      sum += part;
      return { name, part, from, to: sum };
    });
  const ends = [0, score, ...steps.flatMap((step) => [step.from, step.to])];
  return { steps, low: Math.min(...ends), high: Math.max(...ends) };
}

function scoreChart(found) {
  const { steps, low, high } = layOut(found.parts, found.score);
  const span = high - low || 1;
  const place = (value) => `${(100 * (value - low)) / span}%`;
  const bar = (from, to, kind) =>
    h(
      "td",
      { class: "bar-cell", "aria-hidden": "true", vars: { "--zero": place(0) } },
      h("span", {
        class: `step ${kind}`,
        vars: { "--from": place(Math.min(from, to)), "--size": `${(100 * Math.abs(to - from)) / span}%` },
      }),
    );
  const title = unique("parts");
  return [
    h("h3", { id: title }, "How the score adds up"),
    h(
      "table",
      { class: "parts", "aria-labelledby": title },
      h(
        "thead",
        { class: "hidden-text" },
        h("tr", {}, h("th", { scope: "col" }, "Part"), h("td", {}), h("th", { scope: "col" }, "Adds")),
      ),
      h(
        "tbody",
        {},
        steps.map((step) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, PARTS[step.name] ?? step.name),
            bar(step.from, step.to, step.part > 0 ? "for" : "against"),
            h("td", { class: "number" }, signed(step.part, 3)),
          ),
        ),
      ),
      h(
        "tfoot",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "row" }, "Score"),
          bar(0, found.score, "total"),
          h("td", { class: "number" }, signed(found.score, 3)),
        ),
      ),
    ),
  ];
}

function similarRows(rows) {
  if (!rows.length) return null;
  return [
    h("h3", {}, "Rows with this label that are most like the text"),
    h(
      "ul",
      { class: "similar" },
      rows.map((row) =>
        h(
          "li",
          {},
          h("p", {}, typeof row.text === "string" ? row.text : Object.values(row.text ?? {}).join(" · ")),
          h(
            "p",
            { class: "note" },
            `${percent(row.similarity)} alike`,
            row.labels?.length ? ` · ${row.labels.join(", ")}` : "",
          ),
        ),
      ),
    ),
  ];
}
