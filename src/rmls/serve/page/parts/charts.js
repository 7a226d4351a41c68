// Drawings that follow the width of the page and the colours of its theme.
import { h, svg } from "./dom.js";
import { percent, short } from "./numbers.js";

/** Return a figure that is drawn anew when its width changes, with its numbers as a table. */
export function chart(name, draw, caption, header, rows) {
  const place = h("div", { class: "drawing", role: "img", "aria-label": name });
  let drawn = 0;
  new ResizeObserver(([{ contentRect }]) => {
    const width = Math.round(contentRect.width);
    if (width < 40 || width === drawn) return;
    drawn = width;
    place.replaceChildren(draw(width));
  }).observe(place);
  return h(
    "figure",
    {},
    place,
    h("figcaption", {}, caption),
    h(
      "details",
      {},
      h("summary", {}, "The same as a table"),
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            header.map((cell) => h("th", { scope: "col" }, cell)),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row) =>
            h(
              "tr",
              {},
              row.map((cell) => h("td", {}, cell)),
            ),
          ),
        ),
      ),
    ),
  );
}

const text = (x, y, anchor, words, kind = "") =>
  svg("text", { x, y, "text-anchor": anchor, class: kind }, words);

/** Draw columns: how many labels have how many rows. */
export function drawFrequencies(bins, width) {
  const [height, top, bottom] = [240, 24, 44];
  const most = Math.max(...bins.map(({ labels }) => labels), 1);
  const step = width / bins.length;
  const size = Math.min(64, step * 0.72);
  const columns = bins.map(({ rows, labels }, place) => {
    const tall = labels ? Math.max(1.5, ((height - top - bottom) * labels) / most) : 0;
    const middle = (place + 0.5) * step;
    return [
      svg("rect", {
        x: middle - size / 2,
        y: height - bottom - tall,
        width: size,
        height: tall,
        rx: Math.min(3, tall / 2),
        class: "column",
      }),
      text(middle, height - bottom - tall - 6, "middle", short(labels), "value"),
      text(middle, height - bottom + 17, "middle", short(rows)),
    ];
  });
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
    svg("line", { x1: 0, x2: width, y1: height - bottom, y2: height - bottom, class: "axis" }),
    columns,
    text(width / 2, height - 6, "middle", "training rows of a label"),
  );
}

/** Draw points: what was stated, and what was true. */
export function drawReliability(points, width) {
  const side = Math.min(width, 420);
  const [left, bottom, top, right] = [62, 44, 10, 22];
  const x = (value) => left + value * (side - left - right);
  const y = (value) => side - bottom - value * (side - top - bottom);
  const most = Math.max(...points.map((point) => point.count), 1);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((value) => [
    svg("line", { x1: x(0), x2: x(1), y1: y(value), y2: y(value), class: "grid" }),
    text(x(0) - 8, y(value) + 4, "end", percent(value)),
    text(x(value), y(0) + 18, "middle", percent(value)),
  ]);
  const path = points.map((point) => `${x(point.stated)},${y(point.true)}`).join(" ");
  return svg(
    "svg",
    { viewBox: `0 0 ${side} ${side}`, width: side, height: side, "aria-hidden": "true" },
    ticks,
    svg("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), class: "ideal" }),
    svg("polyline", { points: path, class: "curve" }),
    points.map((point) =>
      svg("circle", {
        cx: x(point.stated),
        cy: y(point.true),
        r: 3 + 4 * Math.sqrt(point.count / most),
        class: "point",
      }),
    ),
    text(x(0.5), side - 6, "middle", "stated"),
    svg(
      "text",
      { x: 0, y: 0, transform: `translate(12 ${y(0.5)}) rotate(-90)`, "text-anchor": "middle" },
      "right",
    ),
  );
}
