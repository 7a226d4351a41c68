// Putting texts into the review queue.
import { ask, patiently } from "./api.js";
import { cut } from "./batch.js";
import { h, say } from "./dom.js";
import { counted } from "./numbers.js";
import { state } from "./state.js";

/** Add texts to the queue. */
export async function addRows(texts) {
  const full = texts.filter((text) =>
    (typeof text === "string" ? text : Object.values(text).join("")).trim(),
  );
  for (const [start, end] of cut(full)) {
    const body = { texts: full.slice(start, end), model: state.model };
    await patiently(() => ask("review/rows", { body }));
  }
  return full.length;
}

/** Return a button that adds texts to the queue and says what came of it. */
export function reviewButton(texts) {
  const button = h("button", { type: "button", class: "quiet" }, "Send the rows to review");
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const number = await addRows(texts);
      const note = `${counted(number, "row")} sent.`;
      button.replaceWith(h("p", {}, `${note} `, h("a", { href: "#/review" }, "Open the review queue")));
      say(note);
    } catch (error) {
      button.disabled = false;
      button.after(h("p", { class: "error", role: "alert" }, error.message));
    }
  });
  return button;
}
