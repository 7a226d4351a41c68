"""`rmls train --set` and its shortcuts: any parameter of any method, read as declared."""

from __future__ import annotations

import json

import pytest
from cli_samples import SMALL_RMLS

import rmls
from rmls import models
from rmls.cli.train.command import SHORTCUTS, Given, read_params
from rmls.core.options import describe_options
from rmls.decide import Rule, Threshold, make_rule

RMLS = ("--method", "RMLS")


def described(name):
    estimator = getattr(models, name)
    return describe_options(estimator, estimator.declared_options())


@pytest.mark.parametrize("method", models.__all__)
def test_the_text_of_every_default_is_read_as_the_default(method):
    for each in described(method):
        text = each.default if isinstance(each.default, str) else json.dumps(each.default)
        found = read_params(getattr(models, method), [Given("--set", each.name, text)])[each.name]
        wanted = make_rule(each.default) if each.name == "decision" else each.default
        assert found == wanted
        assert type(found) is type(wanted)


@pytest.mark.parametrize(
    ("text", "value"),
    [("True", True), ("false", False), (".5", 0.5), ("1e-3", 1e-3), ("none", None), ("None", None)],
)
def test_values_may_be_written_as_python_writes_them(text, value):
    name = {bool: "log_q", float: "l2"}.get(type(value), "max_feature_norm")
    assert read_params(models.RMLS, [Given("--set", name, text)]) == {name: value}


def test_rmls_takes_any_parameter(data_file, run, tmp_path):
    settings = {
        "sampler": "frequency", "sampler_power": "0.7", "replacement": "true",
        "max_label_norm": "2.5", "n_iter_no_change": "2", "calibration": "none",
        "class_weight": "balanced", "decision": "threshold=0.5",
    }  # fmt: skip
    given = [text for item in settings.items() for text in ("--set", "=".join(item))]
    result = run("train", data_file, "-o", tmp_path / "m", *SMALL_RMLS, *given)
    assert result.exit_code == 0, result.stderr
    model = rmls.load(tmp_path / "m")
    assert (model.sampler, model.sampler_power, model.replacement) == ("frequency", 0.7, True)
    assert (model.max_label_norm, model.n_iter_no_change, model.calibration) == (2.5, 2, None)
    assert (model.class_weight, model.decision) == ("balanced", Threshold(0.5))
    assert (model.n_components, model.early_stopping) == (8, False)


def test_a_shortcut_is_the_parameter_it_stands_for(data_file, run, tmp_path):
    texts = {
        "components": "4", "passes": "2", "negatives": "3", "learning-rate": "0.2", "l2": "0.01",
        "loss": "squared", "activation": "linear", "normalize": "l2", "batch-size": "2",
        "decision": "top_2", "calibration": "none", "metric": "p@1", "validation": "0.2",
        "seed": "5", "jobs": "1",
    }  # fmt: skip
    parameters = {shortcut.flag: shortcut.parameter for shortcut in SHORTCUTS}
    # RMLS has no cluster; tests/cluster trains RMLSRanker with it.
    assert set(parameters) == {f"--{name}" for name in texts} | {"--cluster"}
    short = [word for name, text in texts.items() for word in (f"--{name}", text)]
    long = [
        word
        for name, text in texts.items()
        for word in ("--set", f"{parameters[f'--{name}']}={text}")
    ]
    for folder, given in (("short", short), ("long", long)):
        result = run("train", data_file, "-o", tmp_path / folder, "--quiet", *RMLS, *given)
        assert result.exit_code == 0, result.stderr
    assert rmls.load(tmp_path / "short").get_params() == rmls.load(tmp_path / "long").get_params()


def test_of_two_values_the_last_one_and_set_count():
    given = [("--l2", "l2", "1"), ("--set", "l2", "2"), ("--set", "l2", "3")]
    assert read_params(models.RMLS, [Given(*each) for each in given]) == {"l2": 3}


def test_an_estimator_inside_another_is_named(data_file, run, tmp_path):
    settings = ("--method", "Resampled", "--set", "estimator=KNN", "--set", "resampler=MLRUS")
    result = run("train", data_file, "-o", tmp_path / "m", *settings)
    assert result.exit_code == 0, result.stderr
    model = rmls.load(tmp_path / "m")
    assert (model.estimator, model.resampler) == ("KNN", "MLRUS")


WRONG = {
    ("n_compnents=9",): "RMLS has no parameter 'n_compnents'; it has accumulators, activation,",
    ("n_components=0",): "--set: n_components must be a whole number of at least 1; got 0.",
    ("n_components=many",): "n_components must be a whole number of at least 1; got 'many'.",
    ("n_components=",): "n_components must be a whole number of at least 1; got ''.",
    ("loss=hinge",): "loss must be one of 'logistic', 'squared', 'squared_hinge'",
    ("l2=NaN",): "l2 must be a non-negative number or 'auto'; got nan.",
    ("max_iter=1.5",): "max_iter must be a whole number of at least 1 or 'auto'; got 1.5.",
    ("validation_fraction=1",): "validation_fraction must lie between 0 and 1; got 1.",
    ("early_stopping=maybe",): "early_stopping must be True or False; got 'maybe'.",
    ("random_state=-1",): "random_state must be a whole number of at least 0",
    ("random_state=x",): "random_state must be a whole number of at least 0",
    ("n_jobs=x",): "n_jobs must be a whole number or None",
    ("verbose=x",): "verbose must be a whole number; got 'x'.",
    ("decision=best",): "decision must be one of",
    ("decision=threshold=high",): "--decision threshold must be a number; got 'high'.",
    ("validation_metric=f7",): "unknown metric 'f7'; did you mean",
    ("validation_metric=psp@5",): "the metric psp@5 cannot be measured in training",
    ("log_q=true", "loss=squared"): "log_q=True needs loss='logistic'",
    ("l2",): "--set takes name=value; got 'l2'.",
    ("=3",): "--set takes name=value; got '=3'.",
}


@pytest.mark.usefixtures("never_loads")
@pytest.mark.parametrize("settings", WRONG, ids=str)
def test_a_wrong_setting_is_one_sentence_before_data_are_loaded(
    settings, data_file, fails, tmp_path
):
    given = [word for text in settings for word in ("--set", text)]
    assert WRONG[settings] in fails("train", data_file, "-o", tmp_path / "m", *RMLS, *given)
    assert not (tmp_path / "m").exists()


@pytest.mark.usefixtures("never_loads")
@pytest.mark.parametrize(
    ("method", "setting", "text"),
    [
        ("cocao", "C=1", "unknown method 'cocao'; known are BMLPL, "),
        ("COCOA", "n_couple=1", "COCOA has no parameter 'n_couple'; it has C, decision, "),
        ("RMLSRanker", "representation=5", "representation must be an RMLS or None; got int."),
        ("Calibrated", "estimator=kn", "estimator must be one of 'BMLPL', "),
        ("Resampled", "resampler=ROS", "resampler must be one of "),
        (
            "GFM",
            "estimator=3",
            "GFM takes an estimator of rmls or of scikit-learn's kind; got int.",
        ),
    ],
)
def test_a_wrong_setting_of_another_method_too(method, setting, text, data_file, fails, tmp_path):
    given = ("--method", method, "--set", setting)
    assert text in fails("train", data_file, "-o", tmp_path / "m", *given)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [(("--method", "cocao"), "COCOA"), (("--set", "n_compnents=9"), "n_components")],
)
def test_a_near_name_is_suggested(arguments, meant, data_file, fails, tmp_path):
    sentence = fails("train", data_file, "-o", tmp_path / "m", *arguments)
    assert sentence.endswith(f"; did you mean {meant}?")


def test_help_says_of_a_shortcut_what_its_method_declares(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    lines = run("train", "--help").stdout.splitlines()
    known = {
        method: {each.name: each for each in described(method)} for method in ("RMLS", "RMLSRanker")
    }
    for shortcut in SHORTCUTS:
        each = known[shortcut.explained_by][shortcut.parameter]
        line = next(line for line in lines if f" {shortcut.flag} " in line)
        assert f"[default: ({each.default})]" in line
        assert all(choice in line for choice in each.option.choices)
        assert ("none" in line) >= (each.option.optional and bool(each.option.choices))


def test_help_puts_what_the_default_lacks_under_rmls(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    lines = run("train", "--help").stdout.splitlines()
    start = next(place for place, line in enumerate(lines) if "Only with --method RMLS" in line)
    panel = lines[start : start + next(i for i, line in enumerate(lines[start:]) if "╰" in line)]
    found = {word for line in panel for word in line.split() if word.startswith("--")}
    lacking = set(models.RMLS.declared_options()) - set(models.RMLSRanker.declared_options())
    flags = {each.flag for each in SHORTCUTS if each.parameter in lacking}
    # --resume is not here: a training of RMLSRanker on a cluster goes on with it, too.
    assert found >= flags | {"--paper", "--early-stopping"}
    assert not found & {each.flag for each in SHORTCUTS if each.parameter not in lacking}


@pytest.mark.usefixtures("never_loads")
@pytest.mark.parametrize(
    "given",
    [
        *(("--negatives", "3"), ("--learning-rate", "0.1"), ("--l2", "0"), ("--metric", "p@1")),
        *(("--activation", "relu"), ("--batch-size", "2")),
        *(("--early-stopping",), ("--no-validation",), ("--resume",), ("--paper",)),
    ],
    ids=" ".join,
)
def test_what_only_rmls_has_is_refused_with_its_name(given, data_file, fails, tmp_path):
    sentence = fails("train", data_file, "-o", tmp_path / "m", *given)
    assert given[0] in sentence
    assert sentence.endswith("add --method RMLS.")


def test_an_option_of_rmls_serves_another_method_that_has_it(data_file, run, tmp_path):
    given = ("--method", "WSABIE", "--learning-rate", "0.02", "--passes", "1", "--quiet")
    result = run("train", data_file, "-o", tmp_path / "m", *given)
    assert result.exit_code == 0, result.stderr
    assert rmls.load(tmp_path / "m").learning_rate == 0.02


def test_help_needs_no_source(run, monkeypatch):
    monkeypatch.setattr("rmls.cli.train.command.read_source_doc", lambda *_: "")
    result = run("train", "--help")
    assert result.exit_code == 0
    assert "--components" in result.stdout


def test_a_rule_given_by_name_is_a_rule():
    found = read_params(models.RMLS, [Given("--set", "decision", "psp@3")])["decision"]
    assert isinstance(found, Rule)
