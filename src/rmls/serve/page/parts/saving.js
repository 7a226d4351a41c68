// Feedback is sent a few seconds after "Save", so that it can be taken back.
import { ask, patiently } from "./api.js";
import { h, say } from "./dom.js";
import { counted } from "./numbers.js";

const SECONDS = 7;
const notice = () => document.getElementById("notice");
let pending = null;

/** Return a name for feedback that makes sending it twice harmless. */
export function makeId() {
  // randomUUID is missing on plain http addresses of a network.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

/** Say in words what is sent. */
export function inWords({ accepted, rejected, added }) {
  return [
    [accepted, "accepted"],
    [rejected, "rejected"],
    [added, "added"],
  ]
    .filter(([labels]) => labels.length)
    .map(([labels, done]) => `${counted(labels.length, "label")} ${done}`)
    .join(", ");
}

/** Send feedback soon; one that still waits is sent now. */
export function saveSoon(body, onUndo) {
  sendNow();
  const entry = { body, onUndo, left: SECONDS, held: false };
  pending = entry;
  showPending(entry);
  say(`${inWords(body)}. Saved in ${SECONDS} seconds; Control Z takes it back.`);
  entry.timer = setInterval(() => {
    if (entry.held) return;
    entry.left -= 1;
    if (entry.left <= 0) return sendNow();
    entry.clock.textContent = `${entry.left} s`;
  }, 1000);
}

function showPending(entry) {
  const place = notice();
  entry.clock = h("span", { class: "clock", "aria-hidden": "true" }, `${entry.left} s`);
  const undo = h("button", { type: "button", on: { click: takeBack } }, "Undo");
  const send = h("button", { type: "button", class: "quiet", on: { click: sendNow } }, "Save now");
  place.replaceChildren(
    h("p", {}, `Saving: ${inWords(entry.body)} `, entry.clock),
    h("div", { class: "actions" }, undo, send),
  );
  place.hidden = false;
  // Whoever is at the buttons has all the time they need.
  const hold = (held) => () => (entry.held = held);
  place.onpointerenter = place.onfocusin = hold(true);
  place.onpointerleave = place.onfocusout = hold(false);
}

function takeBack() {
  if (!pending) return;
  const entry = end();
  hideNotice();
  say("Taken back; nothing was saved.");
  entry.onUndo();
}

function end() {
  const entry = pending;
  clearInterval(entry.timer);
  pending = null;
  return entry;
}

function hideNotice() {
  const place = notice();
  const inside = place.contains(document.activeElement);
  place.hidden = true;
  if (inside) document.getElementById("main").focus();
}

async function sendNow() {
  if (!pending) return;
  const entry = end();
  const place = notice();
  try {
    await patiently(() => ask("feedback", { body: entry.body, keepalive: isSmall(entry.body) }), {
      tries: 3,
    });
    if (pending) return;
    const inside = place.contains(document.activeElement);
    place.replaceChildren(h("p", { class: "done" }, `Saved: ${inWords(entry.body)}.`));
    if (inside) document.getElementById("main").focus();
    say(`Saved: ${inWords(entry.body)}.`);
    setTimeout(() => !pending && place.querySelector(".done") && (place.hidden = true), 6000);
  } catch (error) {
    showFailure(entry, error);
  }
}

function showFailure(entry, error) {
  const again = () => {
    pending = entry;
    sendNow();
  };
  notice().replaceChildren(
    h("p", { class: "error", role: "alert" }, `Not saved. ${error.message}`),
    h(
      "div",
      { class: "actions" },
      h("button", { type: "button", on: { click: again } }, "Try again"),
      h(
        "button",
        { type: "button", class: "quiet", on: { click: () => (hideNotice(), entry.onUndo()) } },
        "Back to the labels",
      ),
    ),
  );
  notice().hidden = false;
}

// Browsers refuse to outlive a page with more than 64 kB.
const isSmall = (body) => JSON.stringify(body).length < 20_000;

document.addEventListener("keydown", (event) => {
  const undo = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "z";
  if (!undo || !pending || event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  takeBack();
});
window.addEventListener("pagehide", sendNow);
