// Suggestions with what a person says about them: accept, reject, add, save.
import { ask, isAbort } from "./api.js";
import { labelBox } from "./combobox.js";
import { h, say, unique } from "./dom.js";
import { count, counted, percent } from "./numbers.js";
import { inWords, makeId, saveSoon } from "./saving.js";
import { asText, state } from "./state.js";
import { whyPanel } from "./why.js";

const KINDS = ["accepted", "rejected", "added"];

/** The suggestions for a text, and the decisions about them. */
export class Decisions {
  /**
   * `texts()` returns the texts by column; `id` is that of a row of the review queue, which feedback
   * with this id takes out; `onSave(body)` is told that Save was pressed.
   */
  constructor({ columns, texts, id = null, saveName = "Save", onSave = () => {}, onUndo = () => {} }) {
    Object.assign(this, { columns, texts, id, onSave, onUndo });
    this.made = new Map();
    this.rows = new Map();
    this.opened = null;
    this.list = h("ol", { class: "suggestions" });
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.tray = h("div", { class: "tray" });
    this.problem = h("p", { class: "error", role: "alert", hidden: true });
    this.save = h(
      "button",
      { type: "button", class: "strong", on: { click: () => this.saveAll() } },
      saveName,
    );
    this.add = labelBox("Add a label", (label) => this.addLabel(label));
    this.root = h(
      "div",
      { class: "decisions" },
      this.list,
      this.add,
      this.tray,
      this.problem,
      h("div", { class: "actions" }, this.save),
    );
    this.showTray();
  }

  /** Show suggestions in place of those before. */
  show(suggestions) {
    const held = this.heldFocus();
    const fresh = new Map();
    for (const found of suggestions) {
      const row = this.rows.get(found.label) ?? this.makeRow(found.label);
      row.fill(found);
      fresh.set(found.label, row);
    }
    this.rows = fresh;
    this.list.replaceChildren(...[...fresh.values()].map((row) => row.node));
    held?.();
    if (this.opened && !fresh.has(this.opened)) this.opened = null;
    if (this.opened) this.explain(this.opened);
  }

  /** Return what puts the focus back where it is now, if it is in the list. */
  heldFocus() {
    const here = document.activeElement;
    if (!this.list.contains(here)) return null;
    return () =>
      this.list.contains(here)
        ? here.focus({ preventScroll: true })
        : this.list.querySelector("button")?.focus();
  }

  makeRow(label) {
    const panel = h("div", { id: unique("why"), class: "panel", hidden: true });
    const name = h(
      "button",
      {
        type: "button",
        class: "name",
        "aria-expanded": "false",
        "aria-controls": panel.id,
        on: { click: () => this.toggle(label) },
      },
      label,
    );
    const share = h("span", { class: "share" });
    const rows = h("span", { class: "note" });
    const bar = h("span", { class: "bar", "aria-hidden": "true" });
    const mark = (kind, sign, verb) =>
      h(
        "button",
        {
          type: "button",
          class: `mark ${kind}`,
          "aria-pressed": "false",
          "aria-label": `${verb} ${label}`,
          title: verb,
          on: { click: () => this.decide(label, kind) },
        },
        h("span", { "aria-hidden": "true" }, sign),
      );
    const buttons = { accepted: mark("accepted", "✓", "Accept"), rejected: mark("rejected", "✕", "Reject") };
    const node = h(
      "li",
      { "data-label": label },
      h(
        "div",
        { class: "line" },
        h("div", { class: "what" }, name, rows),
        share,
        buttons.accepted,
        buttons.rejected,
      ),
      bar,
      panel,
    );
    const fill = (found) => {
      share.textContent = percent(found.probability);
      rows.textContent = counted(found.rows, "row");
      bar.style.setProperty("--share", `${100 * (found.probability ?? 0)}%`);
      this.press({ buttons, node }, this.made.get(label));
    };
    return { node, name, panel, buttons, fill };
  }

  press({ buttons, node }, kind) {
    for (const [other, button] of Object.entries(buttons))
      button.setAttribute("aria-pressed", String(other === kind));
    node.dataset.kind = kind ?? "";
  }

  decide(label, kind) {
    const next = this.made.get(label) === kind ? null : kind;
    next ? this.made.set(label, next) : this.made.delete(label);
    const row = this.rows.get(label);
    if (row) this.press(row, next);
    this.showTray();
    say(next ? `${label}: ${next}` : `${label}: open again`);
  }

  addLabel(label) {
    // A label that is on the list is accepted, not added a second time.
    if (this.rows.has(label)) {
      if (this.made.get(label) !== "accepted") this.decide(label, "accepted");
    } else if (!this.made.has(label)) this.decide(label, "added");
  }

  showTray() {
    this.problem.hidden = true;
    const groups = KINDS.map((kind) => [kind, this.of(kind)]).filter(([, labels]) => labels.length);
    this.tray.replaceChildren(
      ...groups.map(([kind, labels]) =>
        h(
          "div",
          { class: `group ${kind}` },
          h(
            "h3",
            {},
            kind[0].toUpperCase() + kind.slice(1),
            h("span", { class: "note" }, ` ${count(labels.length)}`),
          ),
          h(
            "ul",
            { class: "chips" },
            labels.map((label) =>
              h(
                "li",
                {},
                label,
                h(
                  "button",
                  {
                    type: "button",
                    "aria-label": `Take back ${label}`,
                    on: { click: () => this.takeBack(label, kind) },
                  },
                  h("span", { "aria-hidden": "true" }, "×"),
                ),
              ),
            ),
          ),
        ),
      ),
    );
  }

  takeBack(label, kind) {
    this.decide(label, kind);
    (this.tray.querySelector("button") ?? this.add.querySelector("input")).focus();
  }

  of(kind) {
    return [...this.made].filter(([, made]) => made === kind).map(([label]) => label);
  }

  toggle(label) {
    const before = this.opened;
    this.close();
    if (before === label) return;
    this.opened = label;
    this.rows.get(label).name.setAttribute("aria-expanded", "true");
    this.rows.get(label).panel.hidden = false;
    this.explain(label);
  }

  close() {
    this.asked?.abort();
    const row = this.rows.get(this.opened);
    this.opened = null;
    if (!row) return;
    row.name.setAttribute("aria-expanded", "false");
    row.panel.hidden = true;
  }

  async explain(label) {
    this.asked?.abort();
    const { signal } = (this.asked = new AbortController());
    const { panel } = this.rows.get(label);
    const texts = { ...this.texts() };
    if (!panel.firstChild) panel.append(h("p", { class: "note" }, "Looking for reasons …"));
    try {
      const body = { text: asText(texts, this.columns), label, model: state.model };
      const found = await ask("explain", { body, signal });
      panel.replaceChildren(whyPanel(found, texts));
      say(`Why ${label}: shown below it.`);
    } catch (error) {
      if (!isAbort(error)) panel.replaceChildren(h("p", { class: "error", role: "alert" }, error.message));
    }
  }

  /** Keys on the name of a suggestion: arrows move, A accepts, R rejects. */
  onKey(event) {
    const name = event.target.closest("button.name");
    if (!name || event.ctrlKey || event.metaKey || event.altKey) return;
    const { label } = name.closest("li").dataset;
    const names = [...this.list.querySelectorAll("button.name")];
    const place = names.indexOf(name);
    const acts = {
      ArrowDown: () => names[Math.min(place + 1, names.length - 1)].focus(),
      ArrowUp: () => names[Math.max(place - 1, 0)].focus(),
      a: () => this.decide(label, "accepted"),
      r: () => this.decide(label, "rejected"),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }

  saveAll() {
    const body = { id: this.id ?? makeId(), text: asText(this.texts(), this.columns), model: state.model };
    for (const kind of KINDS) body[kind] = this.of(kind);
    const nothing = !inWords(body);
    if (nothing || !Object.values(this.texts()).join("").trim()) {
      this.problem.textContent = nothing ? "Accept, reject or add a label first." : "Enter a text first.";
      this.problem.hidden = false;
      return;
    }
    const made = new Map(this.made);
    const texts = { ...this.texts() };
    saveSoon(body, () => this.onUndo({ texts, made }));
    this.onSave(body);
  }

  /** Forget the decisions and the suggestions. */
  clear() {
    this.close();
    this.made.clear();
    this.show([]);
    this.showTray();
  }

  /** Put decisions in place of those before, and keep the suggestions. */
  restore(made = new Map()) {
    this.made = new Map(made);
    for (const [label, row] of this.rows) this.press(row, this.made.get(label));
    this.showTray();
  }
}
