// A table in, the same table with labels out.
import { ApiError, isAbort } from "../parts/api.js";
import { suggestAll } from "../parts/batch.js";
import { decode, findDelimiter, findNewline, freeName, guessText, parse, write } from "../parts/csv.js";
import { field, fileButton, h, say, takeFiles, unique } from "../parts/dom.js";
import { count, counted } from "../parts/numbers.js";
import { reviewButton } from "../parts/queue.js";
import { columnsOf, kept, mainColumn, state } from "../parts/state.js";

const MAX_BYTES = 200e6;
const PREVIEW = 10;
let handed = null;

/** Keep a file that was dropped elsewhere for this view. */
export const handOver = (file) => (handed = file);

const openKept = kept(make);

/** Return the view; a job that runs goes on while one visits others. */
export async function open(options) {
  const root = await openKept(options);
  if (handed) root.take(handed);
  handed = null;
  return root;
}

async function make({ signal }) {
  const view = { columns: await columnsOf({ signal }), stop: null, done: 0 };
  view.problem = h("p", { class: "error", role: "alert", hidden: true });
  view.body = h("div", {});
  const zone = h(
    "div",
    { class: "zone" },
    h("p", {}, "Drop a CSV or TSV file here"),
    h(
      "div",
      { class: "actions" },
      fileButton("Choose a file", ".csv,.tsv,.tab,.txt,text/csv,text/tab-separated-values", (file) =>
        take(view, file),
      ),
    ),
  );
  const root = h(
    "div",
    {},
    h(
      "div",
      { class: "intro" },
      h("h1", {}, "Label a table"),
      h(
        "p",
        { class: "lead" },
        "Open a table, say which column holds the text, and download it with a column of labels. The file stays in your browser; only its texts are sent, to this service.",
      ),
    ),
    zone,
    view.problem,
    view.body,
  );
  takeFiles(root, (file) => take(view, file));
  root.take = (file) => take(view, file);
  window.addEventListener("beforeunload", (event) => view.stop && event.preventDefault());
  return root;
}

function complain(view, sentence) {
  view.problem.textContent = sentence;
  view.problem.hidden = !sentence;
}

async function take(view, file) {
  view.stop?.abort();
  view.stop = null;
  complain(view, "");
  view.body.replaceChildren();
  if (file.size > MAX_BYTES)
    return complain(view, `${file.name} is larger than 200 MB; use “rmls suggest --input” for it.`);
  let found;
  try {
    found = decode(new Uint8Array(await file.arrayBuffer()));
  } catch {
    return complain(view, `${file.name} cannot be read; save it as CSV in UTF-8 and open it again.`);
  }
  const { text, bom } = found;
  if (text.includes("\0"))
    return complain(view, `${file.name} is not a table of text; save it as CSV and open it again.`);
  const delimiter = findDelimiter(text);
  const rows = parse(text, delimiter);
  if (rows.length < 2) return complain(view, `${file.name} has no rows below its header; open another file.`);
  Object.assign(view, {
    name: file.name,
    format: { delimiter, bom, newline: findNewline(text) },
    all: rows,
    done: 0,
    refused: 0,
  });
  showSetup(view);
  say(`${file.name} is open, ${counted(rows.length - 1, "row")}.`);
}

function showSetup(view) {
  const [header] = view.all;
  view.header = header;
  view.choices = view.columns.map((column) => columnChoice(view, column));
  view.k = h("input", { type: "number", min: 1, max: 100, value: 5, inputmode: "numeric" });
  view.least = h("input", { type: "number", min: 0, max: 100, value: 0, inputmode: "numeric" });
  view.separator = h(
    "select",
    {},
    [
      ["|", "| (bar)"],
      [";", "; (semicolon)"],
      [", ", ", (comma)"],
    ].map(([value, name]) => h("option", { value }, name)),
  );
  const id = unique("probabilities");
  view.withShares = h("input", { type: "checkbox", id });
  view.go = h("button", { type: "button", class: "strong", on: { click: () => start(view) } }, "Add labels");
  view.progress = h("div", { class: "progress", hidden: true });
  view.preview = h("div", {
    class: "scroll",
    tabindex: "0",
    role: "region",
    "aria-label": "First rows of the table",
  });
  view.body.replaceChildren(
    h("h2", {}, view.name),
    h("p", { class: "note" }, `${counted(view.all.length - 1, "row")}, ${counted(header.length, "column")}`),
    h(
      "div",
      { class: "setup" },
      view.choices.map((choice, place) =>
        field(view.columns[place] ? `Column for ${view.columns[place]}` : "Text column", choice),
      ),
      field("Labels a row, at most", view.k),
      field("Least probability, in %", view.least),
      field("Between labels", view.separator),
    ),
    h(
      "p",
      { class: "check" },
      view.withShares,
      h("label", { for: id }, "Add their probabilities in a second column"),
    ),
    h("div", { class: "actions" }, view.go),
    view.progress,
    h("h2", {}, "Preview"),
    view.preview,
  );
  view.results = [];
  showPreview(view);
}

function columnChoice(view, column) {
  const wanted = column.toLowerCase();
  const options = view.header.map((name, place) =>
    h("option", { value: place }, name || `Column ${place + 1}`),
  );
  const same = view.header.findIndex((name) => name.trim().toLowerCase() === wanted);
  const select = h("select", {}, column && h("option", { value: -1 }, "none"), options);
  const guess = guessText(view.header, view.all.slice(1));
  select.value = String(
    column && same < 0 ? (column === mainColumn(view.columns) ? guess : -1) : same < 0 ? guess : same,
  );
  return select;
}

function textsOf(view) {
  const places = view.choices.map((choice) => Number(choice.value));
  return view.all.slice(1).map((row) => {
    const cells = places.map((place) => row[place] ?? "");
    if (view.columns.length === 1 && view.columns[0] === "") return cells[0];
    return Object.fromEntries(view.columns.map((column, place) => [column, cells[place]]));
  });
}

function readOptions(view) {
  const k = Number(view.k.value);
  const least = Number(view.least.value);
  if (!(Number.isInteger(k) && k >= 1 && k <= 100))
    throw new ApiError(0, "“Labels a row” must be a whole number from 1 to 100.");
  if (!(least >= 0 && least <= 100))
    throw new ApiError(0, "“Least probability” must be a number from 0 to 100.");
  if (view.choices.every((choice) => choice.value === "-1"))
    throw new ApiError(0, "Choose a column that holds text.");
  return { k, min_probability: least / 100, model: state.model };
}

async function start(view) {
  complain(view, "");
  let options;
  try {
    options = readOptions(view);
  } catch (error) {
    return complain(view, error.message);
  }
  const texts = textsOf(view);
  const job = (view.stop = new AbortController());
  Object.assign(view, { results: new Array(texts.length), done: 0, refused: 0, began: Date.now() });
  showProgress(view, texts.length);
  setRunning(view, true);
  let end = "done";
  try {
    await suggestAll(texts, options, {
      signal: job.signal,
      onResults: (...found) => onResults(view, texts.length, ...found),
      onWait: (seconds) =>
        (view.state.textContent = `The service is busy; trying again in ${Math.ceil(seconds)} s.`),
    });
  } catch (error) {
    end = isAbort(error) ? "stopped" : "failed";
    if (end === "failed") complain(view, error.message);
  }
  if (view.stop !== job) return;
  view.stop = null;
  setRunning(view, false);
  showEnd(view, texts, end);
}

function setRunning(view, running) {
  view.go.disabled = running;
  for (const control of [...view.choices, view.k, view.least]) control.disabled = running;
}

function showProgress(view, total) {
  const id = unique("progress");
  view.meter = h("progress", { id, max: total, value: 0 });
  view.state = h("p", { class: "status" }, "");
  view.cancel = h(
    "button",
    { type: "button", class: "quiet", on: { click: () => view.stop?.abort() } },
    "Cancel",
  );
  view.progress.replaceChildren(
    h("label", { for: id }, "Progress"),
    view.meter,
    view.state,
    h("div", { class: "actions" }, view.cancel),
  );
  view.progress.hidden = false;
  view.cancel.focus();
}

function onResults(view, total, start, results, error) {
  results.forEach((found, place) => (view.results[start + place] = found));
  view.done += results.length;
  if (error) view.refused += 1;
  view.meter.value = view.done;
  const left = (((Date.now() - view.began) / view.done) * (total - view.done)) / 1000;
  view.state.textContent = `${count(view.done)} of ${counted(total, "row")}${left > 3 ? `, about ${duration(left)} left` : ""}`;
  if (start < PREVIEW) showPreview(view);
}

const duration = (seconds) => (seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`);

function showEnd(view, texts, end) {
  const words = { done: "Done", stopped: "Stopped", failed: "Stopped by an error" }[end];
  const refused = view.refused
    ? ` ${counted(view.refused, "row")} could not be labelled (too long, perhaps) and stay empty.`
    : "";
  view.state.textContent = `${words}: ${count(view.done)} of ${counted(texts.length, "row")}.${refused}`;
  const download = h(
    "button",
    { type: "button", class: "strong", disabled: !view.done, on: { click: () => save(view) } },
    end === "done" ? "Download" : "Download what is done",
  );
  view.cancel.replaceWith(download, reviewButton(texts));
  if (view.done) download.focus();
  say(view.state.textContent);
  showPreview(view);
}

/** Return the table with what was found in new columns at its end. */
function labelled(view, rows) {
  const separator = view.separator.value;
  const name = freeName(view.header, "labels");
  const more = [
    name,
    ...(view.withShares.checked ? [freeName([...view.header, name], "probabilities")] : []),
  ];
  const width = view.header.length;
  const pad = (row) => [...row, ...new Array(Math.max(0, width - row.length)).fill("")];
  return [
    [...view.header, ...more],
    ...rows.map((row, place) => {
      const found = view.results[place] ?? [];
      const cells = [
        found.map(({ label }) => label).join(separator),
        found.map(({ probability }) => probability?.toFixed(4) ?? "").join(separator),
      ];
      return [...pad(row), ...cells.slice(0, more.length)];
    }),
  ];
}

function showPreview(view) {
  const rows = view.all.slice(1, PREVIEW + 1);
  const [header, ...body] = view.done ? labelled(view, rows) : [view.header, ...rows];
  const short = (cell) => (cell.length > 160 ? `${cell.slice(0, 160)} …` : cell);
  const width = view.header.length;
  // What is new comes first: on a phone nobody would find it at the end.
  const order = header.map((_, place) => place).sort((a, b) => (b >= width) - (a >= width));
  const isNew = (place) => (place >= width ? "new" : null);
  view.preview.replaceChildren(
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          order.map((place) =>
            h("th", { scope: "col", class: isNew(place) }, header[place] || `Column ${place + 1}`),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        body.map((row) =>
          h(
            "tr",
            {},
            order.map((place) => h("td", { class: isNew(place) }, short(row[place] ?? ""))),
          ),
        ),
      ),
    ),
  );
}

function save(view) {
  const text = write(labelled(view, view.all.slice(1)), view.format);
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const name = view.name.replace(/(\.[^.]*)?$/, (ending) => `-labels${ending || ".csv"}`);
  const link = h("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  say(`${name} is downloaded.`);
}
