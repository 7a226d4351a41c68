"""The page around the sections: everything it needs is inside it."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from rmls.core.show.markup import Markup, element, escape, join
from rmls.report.content import Report
from rmls.report.html import section_html

# The choice lasts for the visit; without scripts the page follows the system.
SCRIPT = """
(function () {
  var root = document.documentElement, key = "rmls-theme", kept = null;
  try { kept = sessionStorage.getItem(key); } catch (e) {}
  if (kept) root.dataset.theme = kept;
  document.addEventListener("DOMContentLoaded", function () {
    var button = document.getElementById("theme");
    button.hidden = false;
    button.addEventListener("click", function () {
      var dark = root.dataset.theme
        ? root.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      try { sessionStorage.setItem(key, root.dataset.theme); } catch (e) {}
    });
  });
})();
"""


def to_html(report: Report) -> str:
    """Return a report as one page that fetches nothing."""
    # Style, script and pictures are inside: the file can be mailed or archived.
    sections = [section_html(section) for section in report.sections]
    body = element("body", _header(report), _contents(report), element("main", *sections))
    html = element("html", _head(report), body, lang="en")
    return f"<!DOCTYPE html>\n{html}\n"


def _head(report: Report) -> Markup:
    style = files("rmls.report").joinpath("style.css").read_text("utf-8")
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy()),
        element("meta", name="color-scheme", content="light dark"),
        element("title", escape(f"{report.title} – rmls")),
        element("link", rel="icon", href="data:,"),
        element("style", Markup(style)),
        element("script", Markup(SCRIPT)),
    )


def _policy() -> str:
    """Allow this script and this style, and nothing from anywhere else."""
    # The hash names the one script that may run; markup in a name could not.
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _header(report: Report) -> Markup:
    button = element("button", escape("Light / dark"), id="theme", type="button", hidden="hidden")
    title = join(element("h1", escape(report.title)), element("p", escape(report.subtitle)))
    return element("header", element("div", title), button)


def _contents(report: Report) -> Markup:
    links = [
        element("li", element("a", escape(section.title), href=f"#{section.anchor}"))
        for section in report.sections
    ]
    return element("nav", element("ol", *links), aria_label="Contents")
