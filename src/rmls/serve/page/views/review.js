// Rows that wait for a person, those first whose answer helps most.
import { ask, isAbort } from "../parts/api.js";
import { Decisions } from "../parts/decisions.js";
import { field, h, say } from "../parts/dom.js";
import { counted } from "../parts/numbers.js";
import { addRows } from "../parts/queue.js";
import { columnsOf, kept, mainColumn, state } from "../parts/state.js";

const REASONS = {
  uncertain: "The model is not sure here.",
  "rare label": "A rare label may fit here; every answer about one helps.",
};

const openKept = kept(make);

/** Return the view; the queue is read anew when nothing of it is left. */
export async function open(options) {
  const root = await openKept(options);
  if (root.isEmpty()) await root.refresh(options.signal);
  return root;
}

async function make({ signal }) {
  const view = {
    columns: await columnsOf({ signal }),
    rows: [],
    place: 0,
    saved: new Set(),
    body: h("div", {}),
  };
  const root = h(
    "div",
    {},
    h(
      "div",
      { class: "intro" },
      h("h1", {}, "Review"),
      h(
        "p",
        { class: "lead" },
        "Rows that wait for your answer. Those come first from which the model would learn most.",
      ),
    ),
    view.body,
  );
  root.isEmpty = () => view.place >= view.rows.length;
  root.refresh = (stop) => refresh(view, stop);
  return root;
}

async function refresh(view, signal) {
  const { rows } = await ask("review", { query: { limit: 20, model: state.model }, signal });
  // What waits to be sent is still in the queue of the service.
  view.rows = rows.filter((row) => !view.saved.has(row.id));
  view.place = 0;
  showRow(view);
}

async function refreshOrTell(view) {
  try {
    await refresh(view);
  } catch (error) {
    if (!isAbort(error)) view.body.replaceChildren(h("p", { class: "error", role: "alert" }, error.message));
  }
}

const textsOf = (row, columns) =>
  typeof row.text === "string" ? { [mainColumn(columns)]: row.text } : row.text;

function showRow(view, made = null) {
  const row = view.rows[view.place];
  if (!row) return showEmpty(view);
  const texts = textsOf(row, view.columns);
  const decisions = new Decisions({
    columns: view.columns,
    id: row.id,
    texts: () => texts,
    saveName: "Save and go on",
    onSave: () => {
      view.saved.add(row.id);
      goOn(view);
    },
    onUndo: ({ made: before }) => {
      view.saved.delete(row.id);
      goBack(view, row, before);
    },
  });
  const title = h("h2", { tabindex: "-1" }, `Row ${view.place + 1} of ${view.rows.length}`);
  const skip = h("button", { type: "button", class: "quiet", on: { click: () => goOn(view) } }, "Skip");
  decisions.save.after(skip);
  view.body.replaceChildren(
    h(
      "div",
      { class: "work" },
      h(
        "section",
        { class: "write", "aria-label": "Row" },
        title,
        h("p", { class: "note" }, REASONS[row.why] ?? row.why),
        h(
          "div",
          { class: "reading" },
          Object.entries(texts).map(([column, text]) => [column && h("h3", {}, column), h("p", {}, text)]),
        ),
      ),
      h(
        "section",
        { class: "found", "aria-labelledby": "found-title" },
        h("h2", { id: "found-title" }, "Suggestions"),
        decisions.root,
      ),
    ),
  );
  decisions.show(row.suggestions);
  if (made) decisions.restore(made);
  view.title = title;
}

function goOn(view) {
  view.place += 1;
  if (view.place >= view.rows.length) return refreshOrTell(view).then(() => view.title?.focus());
  showRow(view);
  view.title.focus();
}

function goBack(view, row, made) {
  const place = view.rows.findIndex((other) => other.id === row.id);
  if (place < 0) view.rows.splice(view.place, 0, row);
  else view.place = place;
  showRow(view, made);
  view.title.focus();
}

function showEmpty(view) {
  const box = h("textarea", { rows: 6 });
  const problem = h("p", { class: "error", role: "alert", hidden: true });
  const add = h("button", { type: "button", class: "strong" }, "Add to the queue");
  add.addEventListener("click", async () => {
    const lines = box.value.split(/\r?\n/).filter((line) => line.trim());
    problem.hidden = true;
    try {
      if (!lines.length) throw new Error("Enter a text first.");
      const main = mainColumn(view.columns);
      await addRows(lines.map((line) => (main ? { [main]: line } : line)));
      say(`${counted(lines.length, "row")} added.`);
      await refresh(view);
      view.title?.focus();
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  });
  view.title = h("h2", { tabindex: "-1" }, "Nothing waits for review");
  view.body.replaceChildren(
    h(
      "div",
      { class: "narrow" },
      view.title,
      h(
        "p",
        {},
        "Enter texts below, one a line, or ",
        h("a", { href: "#/table" }, "open a table"),
        " and send its rows here.",
      ),
      field("Texts, one a line", box),
      problem,
      h("div", { class: "actions" }, add),
    ),
  );
}
