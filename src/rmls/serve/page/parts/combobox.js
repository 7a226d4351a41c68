// Search over all labels: an input with a list, after the combobox pattern of ARIA.
import { ask, isAbort } from "./api.js";
import { debounced, h, say, unique } from "./dom.js";
import { counted } from "./numbers.js";
import { state } from "./state.js";

/** Return a box that finds labels while one types; `choose(label)` is told the chosen one. */
export function labelBox(name, choose) {
  const ids = { input: unique("find"), list: unique("list") };
  const list = h("ul", { id: ids.list, role: "listbox", "aria-label": "Labels found", hidden: true });
  const input = h("input", {
    id: ids.input,
    type: "text",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    "aria-expanded": "false",
    "aria-controls": ids.list,
    "aria-autocomplete": "list",
    placeholder: "Search all labels",
  });
  const root = h("div", { class: "combobox field" }, h("label", { for: ids.input }, name), input, list);
  const box = { input, list, choose, options: [], active: -1, asked: null };

  const search = debounced(() => find(box), 150);
  input.addEventListener("input", () => search());
  input.addEventListener("keydown", (event) => onKey(box, event));
  // Leaving closes the list; a click on an option comes first, because it keeps the focus.
  input.addEventListener("blur", () => (search.cancel(), close(box)));
  list.addEventListener("mousedown", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) take(box, Number(option.dataset.place));
  });
  return root;
}

async function find(box) {
  box.asked?.abort();
  const query = box.input.value.trim();
  if (!query) return close(box);
  box.asked = new AbortController();
  try {
    const { labels, total } = await ask("labels", {
      query: { query, limit: 12, model: state.model },
      signal: box.asked.signal,
    });
    show(box, query, labels, total);
  } catch (error) {
    if (!isAbort(error)) say(error.message);
  }
}

function show(box, query, labels, total) {
  box.options = labels.map(({ label, rows }) => ({ label, note: counted(rows, "row") }));
  if (!labels.some(({ label }) => label.toLowerCase() === query.toLowerCase())) {
    box.options.push({ label: query, note: "new label" });
  }
  box.list.replaceChildren(
    ...box.options.map((option, place) =>
      h(
        "li",
        { role: "option", id: `${box.list.id}-${place}`, "data-place": place, "aria-selected": "false" },
        h("span", {}, option.label),
        " ",
        h("span", { class: "note" }, option.note),
      ),
    ),
  );
  box.list.hidden = false;
  box.input.setAttribute("aria-expanded", "true");
  activate(box, labels.length ? 0 : -1);
  say(total ? `${counted(total, "label")} found` : "No label found; Down and Enter add it as a new one");
}

function activate(box, place) {
  box.active = place;
  [...box.list.children].forEach((option, other) =>
    option.setAttribute("aria-selected", String(other === place)),
  );
  if (place < 0) return box.input.removeAttribute("aria-activedescendant");
  box.input.setAttribute("aria-activedescendant", box.list.children[place].id);
  box.list.children[place].scrollIntoView({ block: "nearest" });
}

function close(box) {
  box.asked?.abort();
  box.list.hidden = true;
  box.list.replaceChildren();
  box.options = [];
  box.active = -1;
  box.input.setAttribute("aria-expanded", "false");
  box.input.removeAttribute("aria-activedescendant");
}

function take(box, place) {
  const { label } = box.options[place];
  box.input.value = "";
  close(box);
  box.choose(label);
}

function onKey(box, event) {
  const size = box.options.length;
  const open = !box.list.hidden;
  const moves = {
    ArrowDown: () => (open ? activate(box, (box.active + 1) % size) : find(box)),
    ArrowUp: () => open && activate(box, (box.active - 1 + size) % size),
    Enter: () => open && box.active >= 0 && take(box, box.active),
    Escape: () => (open ? close(box) : (box.input.value = "")),
  };
  if (!moves[event.key]) return;
  event.preventDefault();
  moves[event.key]();
}
