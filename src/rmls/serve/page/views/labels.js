// All labels, with search.
import { ask, isAbort } from "../parts/api.js";
import { debounced, field, h, say } from "../parts/dom.js";
import { counted } from "../parts/numbers.js";
import { kept, state } from "../parts/state.js";
import { labelAddress } from "../parts/why.js";

const PAGE = 50;

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
      ["quality", "Quality"],
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
  const items = labels.map(({ label, rows }) =>
    h(
      "li",
      {},
      h("a", { href: labelAddress(label) }, label),
      h("span", { class: "note" }, counted(rows, "row")),
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
