// All labels, with search.
import { ask, isAbort } from "../parts/api.js";
import { debounced, field, h, say } from "../parts/dom.js";
import { counted, percent } from "../parts/numbers.js";
import { kept, state } from "../parts/state.js";
import { labelAddress } from "../parts/why.js";

const PAGE = 50;
// Other names of a label that stand in the list.
const SHOWN = 2;

export const open = kept(make);

async function make() {
  const view = {
    asked: null,
    shown: 0,
    list: h("ul", { class: "labels" }),
    status: h("p", { class: "status" }),
  };
  view.query = h("input", {
    type: "search",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Beginnings of words",
  });
  view.sort = h(
    "select",
    {},
    [
      ["name", "Name"],
      ["rows", "Most rows"],
      ["quality", "Worst first"],
    ].map(([value, name]) => h("option", { value }, name)),
  );
  view.more = h(
    "button",
    { type: "button", hidden: true, on: { click: () => read(view, true) } },
    "Show more",
  );
  const later = debounced(() => read(view), 200);
  view.query.addEventListener("input", later);
  view.sort.addEventListener("change", () => read(view));
  await read(view, false, true);
  return h(
    "div",
    {},
    h(
      "div",
      { class: "intro" },
      h("h1", {}, "Labels"),
      h(
        "p",
        { class: "lead" },
        "Every label that the model knows. Open one to see what it learned about it.",
      ),
    ),
    h(
      "div",
      { class: "setup", role: "search", "aria-label": "Labels" },
      field("Search", view.query),
      field("Order", view.sort),
    ),
    view.status,
    view.list,
    h("div", { class: "actions" }, view.more),
  );
}

/** Return the first of a label's other names. */
const shortNames = (names) =>
  names.length > SHOWN ? `${names.slice(0, SHOWN).join("; ")} …` : names.join("; ");

async function read(view, more = false, first = false) {
  view.asked?.abort();
  const { signal } = (view.asked = new AbortController());
  const offset = more ? view.shown : 0;
  const query = {
    query: view.query.value.trim(),
    sort: view.sort.value,
    limit: PAGE,
    offset,
    model: state.model,
  };
  try {
    const { total, labels } = await ask("labels", { query, signal });
    show(view, labels, total, offset);
    if (!first) say(view.status.textContent);
  } catch (error) {
    if (first) throw error;
    if (!isAbort(error)) view.status.textContent = error.message;
  }
}

function show(view, labels, total, offset) {
  const note = ({ rows, f1 }) =>
    view.sort.value === "quality" && f1 != null
      ? `F1 ${percent(f1)}, ${counted(rows, "row")}`
      : counted(rows, "row");
  const items = labels.map((found) =>
    h(
      "li",
      {},
      h(
        "span",
        {},
        h("a", { href: labelAddress(found.label) }, found.label),
        found.names?.length > 0 && h("span", { class: "note also" }, shortNames(found.names)),
      ),
      h("span", { class: "note" }, note(found)),
    ),
  );
  if (offset) view.list.append(...items);
  else view.list.replaceChildren(...items);
  view.shown = offset + labels.length;
  view.more.hidden = view.shown >= total;
  view.status.textContent = total ? counted(total, "label") : "No label begins like that; try fewer letters.";
  // The button stays below what came, so the focus goes to the first that is new.
  if (offset && items.length) items[0].querySelector("a").focus();
}
