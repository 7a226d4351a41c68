"""Label Studio's own packages look at our predictions and ask for them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from other_tools import need_python
from protocol_samples import SEA, read_lines, running, settings, store

from rmls.serve import make_app

TEXT = '<Text name="text" value="$text"/>'
CONFIGS = {
    "choices": f"""<View>{TEXT}<Choices name="topic" toName="text" choice="multiple">
        <Choice value="Sea"/><Choice value="Tax"/></Choices></View>""",
    "single": f"""<View>{TEXT}<Choices name="topic" toName="text" choice="single">
        <Choice value="Sea"/><Choice value="Tax"/></Choices></View>""",
    "taxonomy": f"""<View>{TEXT}<Taxonomy name="topic" toName="text">
        <Choice value="Nature"><Choice value="Sea"/></Choice></Taxonomy></View>""",
}
CHECK = """
import json, sys
from label_studio_sdk.label_interface import LabelInterface
config, predictions = json.load(sys.stdin)
interface = LabelInterface(config)
print(json.dumps([interface.validate_prediction(p, return_errors=True) for p in predictions]))
"""


# The class of Label Studio that asks ML backends, without the site around it: what it imports of
# that is replaced by what it needs of it here.
ASK = """
import importlib.util, json, os, sys
from datetime import datetime
from types import ModuleType, SimpleNamespace as Some
from requests.adapters import HTTPAdapter

def replace(name, **values):
    parts = name.split(".")
    for number in range(len(parts)):
        sys.modules.setdefault(".".join(parts[: number + 1]), ModuleType(parts[number]))
    vars(sys.modules[name]).update(values)

folder = importlib.util.find_spec("label_studio").submodule_search_locations[0]
replace("core.feature_flags", flag_set=lambda *given: False)
replace("core.utils.common", load_func=None)
replace("core.utils.exceptions", SsrfBlockedUrlError=type("Blocked", (Exception,), {}))
replace("core.utils.io", SsrfSafeHTTPAdapter=HTTPAdapter)
replace("core.version", get_git_version=lambda: "test")
replace("data_export.serializers", ExportDataSerializer=lambda tasks, many: Some(data=tasks))
site = Some(HOSTNAME="http://site", INTERNAL_PORT="80", ML_BLOCK_LOCAL_IP=False)
replace("django.conf", settings=site)
replace("django.contrib.auth.models", AnonymousUser=object)
replace("django.db.models", Count=lambda name: None)
replace("label_studio.core.utils.params", get_env=lambda name, default=None: default)
spec = importlib.util.spec_from_file_location("client", f"{folder}/ml/api_connector.py")
client = importlib.util.module_from_spec(spec)
spec.loader.exec_module(client)

address, token, config, tasks = json.load(sys.stdin)
listed = Some(annotate=lambda **given: Some(filter=lambda **given: tasks))
project = Some(id=1, created_at=datetime(2026, 1, 1), label_config=config, tasks=listed,
               task_data_login=None, task_data_password=None,
               created_by=Some(auth_token=Some(key="key")))
# A machine under load may need longer than a site should wait.
for name in vars(client):
    if name.startswith(("TIMEOUT", "CONNECTION_TIMEOUT")):
        setattr(client, name, 120.0)
api = client.MLApi(url=address, auth_method="BASIC_AUTH", basic_auth_user="any",
                   basic_auth_pass=token)
wrong = client.MLApi(url=address, basic_auth_user="any", basic_auth_pass="wrong").health()
found = {
    "health": api.health(),
    "setup": api.setup(project),
    "predictions": api.make_predictions(tasks, project),
    "versions": api.get_versions(project),
    "train": api.train(project),
    "wrong": wrong,
}
print(json.dumps({k: [v.is_error, v.status_code, v.response] for k, v in found.items()}))
"""
TOKEN = "a-token-of-the-tests"


@pytest.mark.slow
def test_its_own_client_asks_us_unchanged(tmp_path: Path) -> None:
    python = need_python("label_studio, requests", "label-studio")
    region = {"from_name": "topic", "to_name": "text", "type": "choices"}
    annotation = {"id": 7, "result": [{**region, "value": {"choices": ["Tax"]}}]}
    tasks = [{"id": 1, "data": {"text": SEA}, "annotations": [annotation]}]
    journal = tmp_path / "feedback.jsonl"
    with running(make_app(store(), settings(journal, token=TOKEN))) as address:
        sent = json.dumps([f"http://{address}/label-studio", TOKEN, CONFIGS["choices"], tasks])
        run = subprocess.run([python, "-c", ASK], input=sent, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told.pop("wrong")[:2] == [True, 401]
    assert all(not is_error for is_error, _, _ in told.values()), told
    answers = {name: answer for name, (_, _, answer) in told.items()}
    assert answers["health"]["status"] == "UP"
    (prediction,) = answers["predictions"]["results"]
    assert prediction["result"][0]["value"] == {"choices": ["Sea"]}
    assert prediction["model_version"] in answers["versions"]["versions"]
    assert answers["setup"]["model_version"] == prediction["model_version"]
    assert answers["train"] == {"kept": 1}
    assert [line["added"] for line in read_lines(journal)] == [["tax"]]


@pytest.mark.slow
@pytest.mark.parametrize("kind", CONFIGS)
def test_its_package_finds_nothing_wrong_with_our_predictions(kind: str) -> None:
    python = need_python("label_studio_sdk.label_interface", "label-studio-sdk")
    client = TestClient(make_app(store(), settings()))
    config, tasks = CONFIGS[kind], [{"data": {"text": SEA}}, {"data": {}}]
    asked = {"tasks": tasks, "label_config": config}
    predictions = client.post("/label-studio/predict", json=asked).json()["results"]
    assert predictions[0]["result"]
    # A prediction that is wrong shows that wrong ones are found.
    wrong = json.loads(json.dumps(predictions[0]))
    wrong["result"][0]["from_name"] = "another"
    sent = json.dumps([config, [*predictions, wrong]])
    run = subprocess.run([python, "-c", CHECK], input=sent, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    *found, seen = json.loads(run.stdout)
    assert found == [[], []]
    assert seen
