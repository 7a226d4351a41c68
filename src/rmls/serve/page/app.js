// Which view is open: the part of the address behind #/ says it.
import { ApiError } from "./parts/api.js";
import { h, say } from "./parts/dom.js";
import { chooseModel, loadModels, state } from "./parts/state.js";

const VIEWS = {
  "": () => import("./views/suggest.js"),
  table: () => import("./views/table.js"),
  review: () => import("./views/review.js"),
  labels: () => import("./views/labels.js"),
  label: () => import("./views/label.js"),
  model: () => import("./views/model.js"),
};
const main = document.getElementById("main");
let leaving = new AbortController();

function readAddress() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  return [name, decode(rest.join("/"))];
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function open(first = false) {
  leaving.abort();
  const here = (leaving = new AbortController());
  const [name, argument] = readAddress();
  for (const link of document.querySelectorAll("[data-view]")) {
    const current = link.dataset.view === name || (name === "label" && link.dataset.view === "labels");
    current ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  }
  main.setAttribute("aria-busy", "true");
  let shown;
  try {
    if (!state.models.length) await loadModels();
    const load = VIEWS[name];
    if (!load) throw new ApiError(404, "There is no such page; choose one above.");
    const view = await load();
    shown = await view.open({ argument, signal: here.signal });
  } catch (error) {
    shown = apology(error);
  }
  if (here.signal.aborted) return;
  main.replaceChildren(shown);
  main.removeAttribute("aria-busy");
  finish(first);
}

function finish(first) {
  fillModels();
  const title = main.querySelector("h1");
  document.title = `${title.textContent} – rmls`;
  if (first) return;
  // A new view is read from its title on, as after a load of a page.
  title.tabIndex = -1;
  title.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

function apology(error) {
  if (!(error instanceof ApiError)) console.error(error);
  const sentence =
    error instanceof ApiError ? error.message : "Something went wrong in this page; reload it.";
  return h(
    "div",
    { class: "narrow" },
    h("h1", {}, "That did not work"),
    h("p", { class: "error", role: "alert" }, sentence),
    h("button", { type: "button", on: { click: () => open() } }, "Try again"),
  );
}

function fillModels() {
  const box = document.getElementById("model");
  document.getElementById("model-choice").hidden = state.models.length < 2;
  const names = state.models.map((model) => model.name);
  if (box.options.length !== names.length) box.replaceChildren(...names.map((name) => h("option", {}, name)));
  box.value = state.model ?? "";
}

function setUpThemes() {
  const button = document.getElementById("theme");
  const themes = ["auto", "light", "dark"];
  const names = { auto: "Auto", light: "Light", dark: "Dark" };
  const now = () => document.documentElement.dataset.theme ?? "auto";
  const show = () => {
    button.textContent = names[now()];
    button.setAttribute("aria-label", `Colours: ${names[now()]}. Change`);
  };
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(now()) + 1) % themes.length];
    if (next === "auto") {
      delete document.documentElement.dataset.theme;
      localStorage.removeItem("rmls-theme");
    } else {
      document.documentElement.dataset.theme = next;
      localStorage.setItem("rmls-theme", next);
    }
    show();
    say(`Colours: ${names[next]}`);
  });
  show();
}

setUpThemes();
document.getElementById("model").addEventListener("change", (event) => {
  chooseModel(event.target.value);
  open();
});
window.addEventListener("hashchange", () => {
  if (location.hash === "" || location.hash.startsWith("#/")) open();
});
open(true);
