// What all views know: the models, the one that is asked, and the text that is being worked on.
import { ask } from "./api.js";

const KEY = "rmls-model";
const LONG = /^(full)?_?(text|body|content|abstract|description)s?$/i;
const details = new Map();

export const state = {
  models: [],
  model: null,
  /** Texts by column; models of one text have the column "". */
  texts: {},
  k: 10,
  /** From head (0) to tail (1); null leaves it to the model. */
  tail: null,
};

/** Read which models there are. */
export async function loadModels() {
  const { models } = await ask("models");
  state.models = models;
  const kept = sessionStorage.getItem(KEY);
  const first = models.find((model) => model.default) ?? models[0];
  state.model = models.some((model) => model.name === kept) ? kept : (first?.name ?? null);
}

/** Ask another model from now on. */
export function chooseModel(name) {
  state.model = name;
  sessionStorage.setItem(KEY, name);
}

/** Return all about the chosen model; `fresh` asks again. */
export async function aboutModel({ fresh = false, signal } = {}) {
  const name = state.model;
  if (fresh || !details.has(name)) {
    details.set(name, await ask(`models/${encodeURIComponent(name)}`, { signal }));
  }
  return details.get(name);
}

/** Return the columns of the chosen model; one without a name where it takes a plain text. */
export async function columnsOf(options) {
  const { columns } = await aboutModel(options);
  return columns?.length ? columns : [""];
}

/** Return the column for a text that says not what it is: the one named like a body, else the first. */
export function mainColumn(columns) {
  return columns.find((column) => LONG.test(column)) ?? columns[0];
}

/** Return texts by column as the service takes them. */
export function asText(texts, columns) {
  if (columns.length === 1 && columns[0] === "") return texts[""] ?? "";
  return Object.fromEntries(columns.map((column) => [column, texts[column] ?? ""]));
}

/** Return a view that stays as it is while one visits others, until another model is chosen. */
export function kept(make) {
  let view = null;
  let owner = null;
  return async (options) => {
    if (view === null || owner !== state.model) {
      const name = state.model;
      view = await make(options);
      owner = name;
    }
    return view;
  };
}
