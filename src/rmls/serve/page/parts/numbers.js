// Numbers as people read them.

export const count = (number) => number.toLocaleString("en");

/** Return "1 row", "2 rows". */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** Return a probability as a percentage; none is shown as certain that is not. */
export function percent(share) {
  if (share == null) return "–";
  if (share > 0 && share < 0.01) return "<1%";
  if (share < 1 && share > 0.99) return ">99%";
  return `${Math.round(100 * share)}%`;
}

/** Return a part of a score with its sign. */
export function signed(number, digits = 2) {
  const text = Math.abs(number).toFixed(digits);
  if (Number(text) === 0) return text;
  return (number < 0 ? "−" : "+") + text;
}

/** Return a large number short: 1,500 is 1.5k. */
export function short(number) {
  if (number < 1000) return String(number);
  const [unit, name] = number < 1e6 ? [1e3, "k"] : [1e6, "M"];
  return `${Number((number / unit).toFixed(number / unit < 10 ? 1 : 0))}${name}`;
}

/** Return when something was, in the reader's own time. */
export function when(text) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return String(text);
  return date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}
