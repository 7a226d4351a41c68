// About the model: sizes, imbalance, quality, how far its probabilities can be believed.
import { chart, drawFrequencies, drawReliability } from "../parts/charts.js";
import { h } from "../parts/dom.js";
import { count, percent, when } from "../parts/numbers.js";
import { record } from "../parts/record.js";
import { aboutModel } from "../parts/state.js";
import { labelAddress } from "../parts/why.js";

export async function open({ signal }) {
  const model = await aboutModel({ fresh: true, signal });
  return h(
    "div",
    {},
    h(
      "div",
      { class: "intro" },
      h("h1", {}, model.name),
      h("p", { class: "lead" }, "What this model knows, and how far it can be trusted."),
    ),
    sizes(model),
    imbalance(model.frequencies ?? []),
    quality(model.quality),
    h("section", {}, h("h2", {}, "Training record"), record(recorded(model))),
  );
}

/** Return what is known of the training: what was written down, its settings, its times. */
const recorded = ({ description, settings, stages }) => ({
  ...description,
  ...(settings && { settings }),
  ...(stages && Object.keys(stages).length > 0 && { seconds_of_its_stages: stages }),
});

function sizes(model) {
  const figures = [
    ["Labels", count(model.labels)],
    ["Training rows", model.rows == null ? "–" : count(model.rows)],
    ["Method", model.method],
    ["Served since", when(model.since)],
  ];
  return h(
    "dl",
    { class: "figures" },
    figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

const range = ({ rows }) => (rows <= 1 ? String(rows) : `${count(rows)}–${count(2 * rows - 1)}`);

function imbalance(frequencies) {
  if (!frequencies.length) return null;
  const total = frequencies.reduce((sum, { labels }) => sum + labels, 0);
  const few = frequencies.filter(({ rows }) => rows < 8).reduce((sum, { labels }) => sum + labels, 0);
  const sentence = `${percent(few / total)} of the labels have fewer than 8 training rows.`;
  return h(
    "section",
    {},
    h("h2", {}, "How rows are spread over labels"),
    h("p", {}, sentence),
    chart(
      `Labels by their number of training rows. ${sentence}`,
      (width) => drawFrequencies(frequencies, width),
      "Labels by how many training rows they have; each column spans twice as many rows as the one before.",
      ["Training rows", "Labels"],
      frequencies.map((bin) => [range(bin), count(bin.labels)]),
    ),
  );
}

function quality(found) {
  if (!found) {
    return h(
      "section",
      {},
      h("h2", {}, "Quality"),
      h(
        "p",
        { class: "note" },
        "This model has no record of its quality. Train it with “rmls train”, which measures it on rows held out, to see it here.",
      ),
    );
  }
  return [
    groups(found.groups ?? [], found),
    figures(found.figures ?? [], found.baseline),
    reliability(found.reliability ?? []),
    worst(found.worst ?? []),
  ];
}

const share = (value) => (value == null ? "–" : percent(value));

/** Return what the figures are of, in a sentence. */
function measured({ n_rows: rows, n_judges: judges, measured: date }) {
  if (rows == null) return "Measured on rows that the model had not seen.";
  const which = judges
    ? `${count(rows)} training rows, before the model learned from them`
    : `${count(rows)} rows that the model has not seen`;
  return `Measured on ${which}${date ? `, ${when(date)}` : ""}.`;
}

function groups(found, about) {
  if (!found.length) return null;
  return h(
    "section",
    {},
    h("h2", {}, "Quality by group"),
    h(
      "p",
      {},
      `${measured(about)} Head: the most frequent labels; tail: the rarest.`,
    ),
    table(
      ["Group", "Labels", "Precision", "Recall", "F1"],
      found.map((group) => [
        group.group,
        count(group.labels),
        share(group.precision),
        share(group.recall),
        share(group.f1),
      ]),
    ),
  );
}

const GROUPS = ["all", "head", "torso", "tail"];
const METRICS = {
  "P@1": "The first suggestion is right",
  "P@5": "The first five are right",
  "PSP@5": "The same, rare labels weighing more",
  "example F": "F1 of a row",
  "macro F": "F1 of a label",
};

/** Show every metric by group with its interval, the baseline below it. */
function figures(found, baseline) {
  if (!found.length) return null;
  const at = new Map(found.map((figure) => [`${figure.metric} ${figure.group}`, figure]));
  const cell = (value, low, high) =>
    value == null ? "–" : `${percent(value)} ±${(50 * (high - low)).toFixed(1)}`;
  const lines = [...new Set(found.map(({ metric }) => metric))].flatMap((metric) => {
    const here = GROUPS.map((group) => at.get(`${metric} ${group}`) ?? {});
    const own = here.map(({ value, low, high }) => cell(value, low, high));
    const other = here.map((each) => cell(each.baseline, each.baseline_low, each.baseline_high));
    const name = METRICS[metric] ? `${METRICS[metric]} (${metric})` : metric;
    return baseline ? [[name, ...own], [`… ${baseline}`, ...other]] : [[name, ...own]];
  });
  const fresh = at.get("P@1 all")?.without_repeats;
  return h(
    "section",
    {},
    h("h2", {}, baseline ? `Beside a baseline, ${baseline}` : "With intervals"),
    h(
      "p",
      {},
      "± is half of the 95% interval, in points.",
      fresh != null &&
        ` Without texts that the training has nearly seen, the first suggestion is right in ${percent(fresh)}.`,
    ),
    table(["Figure", "All", "Head", "Torso", "Tail"], lines),
  );
}

function reliability(points) {
  if (!points.length) return null;
  return h(
    "section",
    {},
    h("h2", {}, "Can the probabilities be believed?"),
    h(
      "p",
      {},
      "On the line, labels stated with 70% are right seven times in ten. Above it the model is too modest, below it too sure.",
    ),
    chart(
      "Stated probability against the share that was right",
      (width) => drawReliability(points, width),
      "Stated probability against the share that was right; larger points stand for more suggestions.",
      ["Stated", "Right", "Suggestions"],
      points.map((point) => [percent(point.stated), percent(point.true), count(point.count)]),
    ),
  );
}

function worst(labels) {
  if (!labels.length) return null;
  return h(
    "section",
    {},
    h("h2", {}, "Labels that do worst"),
    h("p", {}, "More rows or clearer names for these help most."),
    table(
      ["Label", "Training rows", "Held-out rows", "F1"],
      labels.map(({ label, rows, f1, held_out_rows: held }) => [
        h("a", { href: labelAddress(label) }, label),
        count(rows),
        held == null ? "–" : count(held),
        share(f1),
      ]),
    ),
  );
}

function table(header, rows) {
  const number = (place) => (place ? "number" : null);
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": header.join(", ") },
    h(
      "table",
      { class: "wide" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          header.map((name, place) => h("th", { scope: "col", class: number(place) }, name)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map(([first, ...rest]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, first),
            rest.map((cell) => h("td", { class: "number" }, cell)),
          ),
        ),
      ),
    ),
  );
}
