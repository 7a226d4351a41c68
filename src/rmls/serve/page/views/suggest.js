// A text in, suggestions while one types.
import { ask, isAbort, patiently } from "../parts/api.js";
import { decode } from "../parts/csv.js";
import { Decisions } from "../parts/decisions.js";
import { debounced, fileButton, h, say, takeFiles, unique } from "../parts/dom.js";
import { counted, percent } from "../parts/numbers.js";
import { asText, columnsOf, kept, mainColumn, state } from "../parts/state.js";
import { handOver } from "./table.js";

const WAIT = 250;
const EMPTY = "Suggestions appear here while you type.";

export const open = kept(make);

async function make({ signal }) {
  const columns = await columnsOf({ signal });
  const view = { columns, asked: null, status: h("p", { class: "status" }, EMPTY) };
  view.boxes = columns.map((column) => textBox(view, column));
  view.decisions = new Decisions({
    columns,
    texts: () => currentTexts(view),
    onSave: () => view.decisions.restore(),
    onUndo: ({ texts, made }) => {
      setTexts(view, texts);
      view.decisions.restore(made);
    },
  });
  view.later = debounced(() => suggest(view), WAIT);
  // Those who listen hear a result when they pause, not at every word.
  view.tell = debounced(say, 1200);
  const write = writing(view);
  takeFiles(write, (file) => readFile(view, file));
  if (hasText(view)) suggest(view);
  return h(
    "div",
    {},
    h(
      "div",
      { class: "intro" },
      h("h1", {}, "Suggest labels"),
      h(
        "p",
        { class: "lead" },
        "Paste or type a text. Open a suggestion to see why; accept or reject it, add what is missing, and save.",
      ),
    ),
    h(
      "div",
      { class: "work" },
      write,
      h(
        "section",
        { class: "found", "aria-labelledby": "found-title" },
        h("h2", { id: "found-title" }, "Suggestions"),
        view.status,
        view.decisions.root,
      ),
    ),
    keys(),
  );
}

function textBox(view, column) {
  const box = h("textarea", {
    id: unique("text"),
    rows: view.columns.length > 1 ? 1 : 12,
    "data-column": column,
    placeholder: view.columns.length > 1 ? null : "Paste a text, or drop a file here",
    value: state.texts[column] ?? "",
    on: {
      input: () => {
        state.texts[column] = box.value;
        onText(view);
      },
    },
  });
  return box;
}

function writing(view) {
  const fields = view.boxes.map((box, place) =>
    h("div", { class: "field" }, h("label", { for: box.id }, view.columns[place] || "Text"), box),
  );
  const clear = h(
    "button",
    { type: "button", class: "quiet", on: { click: () => startAnew(view) } },
    "Clear",
  );
  return h(
    "section",
    { class: "write", "aria-label": "Your text" },
    fields,
    h(
      "div",
      { class: "actions" },
      fileButton("Open a file", ".txt,.md,.csv,.tsv,text/*", (file) => readFile(view, file)),
      clear,
    ),
    h("div", { class: "sliders" }, tailSlider(view), countSlider(view)),
  );
}

function tailSlider(view) {
  const id = unique("tail");
  const words = () =>
    state.tail === null ? "the model’s own" : `${Math.round(100 * state.tail)}% towards rare`;
  const output = h("output", { for: id }, words());
  const reset = h("button", { type: "button", class: "link", hidden: state.tail === null }, "Reset");
  const slider = h("input", {
    id,
    type: "range",
    min: 0,
    max: 1,
    step: 0.05,
    value: state.tail ?? 0,
    "aria-valuetext": words(),
  });
  const set = (value) => {
    state.tail = value;
    output.textContent = words();
    slider.setAttribute("aria-valuetext", words());
    reset.hidden = value === null;
    view.later();
  };
  slider.addEventListener("input", () => set(Number(slider.value)));
  reset.addEventListener("click", () => {
    slider.value = 0;
    set(null);
    slider.focus();
  });
  return h(
    "div",
    { class: "field slider" },
    h("div", { class: "line" }, h("label", { for: id }, "Common or rare"), output),
    slider,
    h("div", { class: "line ends" }, h("span", {}, "common"), reset, h("span", {}, "rare")),
  );
}

function countSlider(view) {
  const id = unique("count");
  const output = h("output", { for: id }, String(state.k));
  const slider = h("input", { id, type: "range", min: 1, max: 30, step: 1, value: state.k });
  slider.addEventListener("input", () => {
    state.k = Number(slider.value);
    output.textContent = String(state.k);
    view.later();
  });
  return h(
    "div",
    { class: "field slider" },
    h("div", { class: "line" }, h("label", { for: id }, "How many"), output),
    slider,
  );
}

const currentTexts = (view) =>
  Object.fromEntries(view.columns.map((column, place) => [column, view.boxes[place].value]));
const hasText = (view) => view.boxes.some((box) => box.value.trim());

function setTexts(view, texts) {
  view.columns.forEach((column, place) => {
    state.texts[column] = view.boxes[place].value = texts[column] ?? "";
  });
  onText(view);
}

function onText(view) {
  // An answer to an older text must not replace what is shown for this one.
  view.asked?.abort();
  if (hasText(view)) return view.later();
  view.later.cancel();
  view.status.textContent = EMPTY;
  view.decisions.show([]);
}

async function suggest(view) {
  if (!hasText(view)) return;
  view.asked?.abort();
  const { signal } = (view.asked = new AbortController());
  const body = { text: asText(currentTexts(view), view.columns), k: state.k, model: state.model };
  if (state.tail !== null) body.tail = state.tail;
  const onWait = () => (view.status.textContent = "The service is busy; trying again …");
  try {
    const { results } = await patiently(() => ask("suggest", { body, signal }), { tries: 4, signal, onWait });
    if (signal.aborted) return;
    const { suggestions } = results[0];
    view.status.classList.remove("error");
    view.status.textContent = suggestions.length
      ? ""
      : "No label fits this text; add one below if you know it.";
    view.decisions.show(suggestions);
    if (suggestions.length) {
      const { label, probability } = suggestions[0];
      view.tell(`${counted(suggestions.length, "suggestion")}; first ${label}, ${percent(probability)}`);
    }
  } catch (error) {
    if (isAbort(error)) return;
    view.status.classList.add("error");
    view.status.textContent = error.message;
    view.tell(error.message);
  }
}

function startAnew(view) {
  setTexts(view, {});
  view.decisions.clear();
  view.boxes[0].focus();
}

async function readFile(view, file) {
  if (/\.(csv|tsv|tab)$/i.test(file.name)) {
    handOver(file);
    location.hash = "#/table";
    return;
  }
  const { text } = decode(new Uint8Array(await file.arrayBuffer()));
  if (text.includes("\0")) {
    view.status.classList.add("error");
    view.status.textContent = `${file.name} is not a text; open a plain text, CSV or TSV file.`;
    return;
  }
  setTexts(view, { ...currentTexts(view), [mainColumn(view.columns)]: text });
  say(`${file.name} is open.`);
}

function keys() {
  const rows = [
    ["Tab", "to the next control"],
    ["↑ ↓", "to another suggestion"],
    ["Enter", "why this suggestion"],
    ["A", "accept it"],
    ["R", "reject it"],
    ["Ctrl Z", "take back what is being saved"],
  ];
  return h(
    "details",
    { class: "keys" },
    h("summary", {}, "Keys"),
    h(
      "dl",
      {},
      rows.map(([key, what]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, what))),
    ),
  );
}
