"""Label Studio's own package looks at our predictions."""

from __future__ import annotations

import json
import subprocess

import pytest
from fastapi.testclient import TestClient
from other_tools import need_python
from protocol_samples import SEA, settings, store

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
