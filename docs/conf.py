"""Settings of the documentation site: `make docs` builds it, without a network."""

from __future__ import annotations

from pathlib import Path

from rmls import __version__

HERE = Path(__file__).parent

project = "rmls"
author = "the rmls developers"
copyright = author
version = release = __version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "sg_execution_times.rst", "**/sg_execution_times.rst"]
templates_path = ["_templates"]
# Plain blocks are sessions in a terminal.
highlight_language = "console"
default_role = "code"
# Words in types are no names to look up; a pattern of pages may match none.
suppress_warnings = ["ref.python", "toc.empty_glob"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
autodoc_default_options = {
    "members": True,
    # What scikit-learn adds to every estimator is described there.
    "inherited-members": "BaseEstimator,ClassifierMixin,TransformerMixin,tuple,dict,list",
    "exclude-members": ",".join(
        [
            "set_fit_request",
            "set_partial_fit_request",
            "set_predict_request",
            "set_predict_proba_request",
            "set_output",
            "set_score_request",
            "set_transform_request",
            "get_metadata_routing",
        ]
    ),
}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False
napoleon_use_ivar = True
napoleon_preprocess_types = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"rmls {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
# Nobody is told who reads: no font, script or picture comes from elsewhere.
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2a5d84", "color-brand-content": "#2a5d84"},
    "dark_css_variables": {"color-brand-primary": "#8fc1e3", "color-brand-content": "#8fc1e3"},
    "footer_icons": [],
}

linkcheck_timeout = 20
linkcheck_ignore = [r"https?://(127\.0\.0\.1|localhost)[:/].*"]

sphinx_gallery_conf = {
    "examples_dirs": [str(HERE / "gallery")],
    "gallery_dirs": ["examples"],
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "show_signature": False,
    "remove_config_comments": True,
    "image_srcset": ["2x"],
    "matplotlib_animations": False,
    "abort_on_example_error": True,
}
