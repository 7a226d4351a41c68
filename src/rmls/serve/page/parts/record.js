// Anything that JSON can hold, as lists of names and values.
import { h } from "./dom.js";
import { count } from "./numbers.js";

const MANY = 30;

/** Return an object as a list; objects inside it are lists of their own. */
export function record(found) {
  const entries = Object.entries(found).filter(([, value]) => value !== null && value !== "");
  if (!entries.length) return h("p", { class: "note" }, "Nothing was recorded.");
  const [nested, plain] = [
    entries.filter(([, value]) => isNested(value)),
    entries.filter(([, value]) => !isNested(value)),
  ];
  return [
    plain.length > 0 &&
      h(
        "dl",
        { class: "record" },
        plain.map(([name, value]) => h("div", {}, h("dt", {}, words(name)), h("dd", {}, show(value)))),
      ),
    nested.map(([name, value]) =>
      h("details", {}, h("summary", {}, words(name)), Array.isArray(value) ? list(value) : record(value)),
    ),
  ];
}

const isNested = (value) =>
  typeof value === "object" && (!Array.isArray(value) || value.some((item) => typeof item === "object"));
const words = (name) =>
  name
    .replace(/^n_/, "number of ")
    .replaceAll("_", " ")
    .replace(/^./, (letter) => letter.toUpperCase());

function list(values) {
  const items = values
    .slice(0, MANY)
    .map((value) => h("li", {}, value && typeof value === "object" ? record(value) : show(value)));
  return [
    h("ol", {}, items),
    values.length > MANY && h("p", { class: "note" }, `${count(values.length - MANY)} more.`),
  ];
}

function show(value) {
  if (Array.isArray(value)) {
    const shown = value.slice(0, MANY).map(show).join(", ");
    return value.length > MANY ? `${shown} and ${count(value.length - MANY)} more` : shown;
  }
  if (typeof value === "number")
    return Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(4)));
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value);
}
