// One label: what it learned, what is like it, how well it does.
import { ask } from "../parts/api.js";
import { h } from "../parts/dom.js";
import { counted, percent, signed } from "../parts/numbers.js";
import { state } from "../parts/state.js";
import { labelAddress } from "../parts/why.js";

const GROUPS = {
  head: "one of the most frequent labels",
  torso: "neither frequent nor rare",
  tail: "a rare label",
  unseen: "a label without any training row",
};

export async function open({ argument, signal }) {
  const found = await ask(`labels/${encodeURIComponent(argument)}`, {
    query: { model: state.model },
    signal,
  });
  const features = found.top_features ?? [];
  return h(
    "div",
    {},
    h("p", { class: "back" }, h("a", { href: "#/labels" }, "All labels")),
    h(
      "div",
      { class: "intro" },
      h("h1", {}, found.label),
      h(
        "p",
        { class: "lead" },
        `${counted(found.rows, "training row")}; ${GROUPS[found.group] ?? found.group}.`,
      ),
      found.names?.length > 0 && h("p", { class: "names" }, `Also called ${found.names.join("; ")}.`),
    ),
    h("section", {}, h("h2", {}, "How well it does"), quality(found.quality)),
    h(
      "div",
      { class: "pair" },
      side("Words for it", "for", features),
      side("Words against it", "against", features),
    ),
    features.length > 0 &&
      h("p", { class: "note" }, "Words may stand here without their endings, as the model reads them."),
    h("section", {}, h("h2", {}, "Labels like it"), similar(found.similar ?? [])),
  );
}

function quality(found) {
  if (!found)
    return h(
      "p",
      { class: "note" },
      "It was not measured: there are no figures for this label.",
    );
  const figures = [
    ["Right when suggested", found.precision, "precision"],
    ["Found when it applies", found.recall, "recall"],
    ["Both together", found.f1, "F1"],
  ];
  return [
    h(
      "dl",
      { class: "figures" },
      figures.map(([name, value, term]) =>
        h(
          "div",
          {},
          h("dt", {}, name, h("span", { class: "note" }, ` ${term}`)),
          h("dd", {}, value == null ? "–" : percent(value)),
        ),
      ),
    ),
    h(
      "p",
      { class: "note" },
      `Measured on ${counted(found.held_out_rows, "row")} that the model had not seen.`,
    ),
  ];
}

function side(title, name, all) {
  const features = all.filter(({ weight }) => (name === "for" ? weight > 0 : weight < 0));
  const largest = Math.max(...all.map(({ weight }) => Math.abs(weight)));
  const bar = ({ feature, weight }) =>
    h(
      "li",
      {},
      h("span", {}, feature),
      h("span", { class: "number" }, signed(weight)),
      h("span", {
        class: `bar ${name}`,
        "aria-hidden": "true",
        vars: { "--share": `${(100 * Math.abs(weight)) / largest}%` },
      }),
    );
  const list = features.length
    ? h("ul", { class: "bars" }, features.map(bar))
    : h("p", { class: "note" }, "None.");
  return h("section", {}, h("h2", {}, title), list);
}

function similar(labels) {
  if (!labels.length) return h("p", { class: "note" }, "None.");
  return h(
    "ul",
    { class: "bars" },
    labels.map(({ label, similarity }) =>
      h(
        "li",
        {},
        h("a", { href: labelAddress(label) }, label),
        h("span", { class: "number" }, percent(Math.max(0, similarity))),
        h("span", {
          class: "bar",
          "aria-hidden": "true",
          vars: { "--share": `${100 * Math.max(0, Math.min(1, similarity))}%` },
        }),
      ),
    ),
  );
}
