// Making elements without markup in strings, so that no text can ever become markup.
const SVG = "http://www.w3.org/2000/svg";
let made = 0;

/** Return an element; `on` holds listeners, `vars` custom properties of CSS. */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** Return an element of a drawing. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value == null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (name === "vars") {
      for (const [key, number] of Object.entries(value)) node.style.setProperty(key, number);
    } else if (!(name === "value" && node.localName === "textarea"))
      node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(2).filter((child) => child != null && child !== false));
  if (node.localName === "textarea" && props.value) node.value = props.value;
  return node;
}

/** Return a name that no other element has. */
export function unique(prefix) {
  made += 1;
  return `${prefix}-${made}`;
}

/** Say something to those who listen to the page. */
export function say(text) {
  const place = document.getElementById("say");
  place.textContent = "";
  // The same words twice are only heard twice if the place was empty in between.
  setTimeout(() => (place.textContent = text), 50);
}

/** Return a function that runs once calls have stopped for some milliseconds. */
export function debounced(run, wait) {
  let timer;
  const later = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...values), wait);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** Return a field with its label above it. */
export function field(name, control, note) {
  control.id ||= unique("field");
  const noteId = note && unique("note");
  if (note) control.setAttribute("aria-describedby", noteId);
  return h(
    "div",
    { class: "field" },
    h("label", { for: control.id }, name),
    control,
    note && h("p", { class: "note", id: noteId }, note),
  );
}

/** Let files be dropped on an element. */
export function takeFiles(node, take) {
  const over = (on) => node.classList.toggle("over", on);
  node.addEventListener("dragover", (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    over(true);
  });
  node.addEventListener("dragleave", () => over(false));
  node.addEventListener("drop", (event) => {
    over(false);
    const file = event.dataTransfer.files[0];
    if (!file) return;
    event.preventDefault();
    take(file);
  });
}

/** Return a button that opens a file, and works like any other button. */
export function fileButton(name, accept, take) {
  const input = h("input", {
    type: "file",
    accept,
    class: "hidden-text",
    tabindex: "-1",
    "aria-hidden": "true",
  });
  input.addEventListener("change", () => {
    if (input.files[0]) take(input.files[0]);
    input.value = "";
  });
  return [h("button", { type: "button", class: "quiet", on: { click: () => input.click() } }, name), input];
}
