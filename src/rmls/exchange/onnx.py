"""RMLS as ONNX: scaling, vectors and scores of rows, for programs without Python.

What is exported is ``activation(x W + b) . l_j + c_j``, all of `RMLS`. The sparse classifiers of
`RMLSRanker` are not: docs/interoperate.md says why.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rmls.core.errors import InputError
from rmls.core.files import replacing
from rmls.core.optional import import_extra
from rmls.core.version import VERSION
from rmls.features.normalize import MAX_DEVIATIONS, SHORTEST, Normalizer
from rmls.models import RMLS

# Old enough for every runtime of the last years.
OPSET, IR_VERSION = 17, 8
# A protocol buffer holds no more.
MAX_BYTES = 2**31 - 2**20
ACTIVATIONS = {"tanh": "Tanh", "relu": "Relu"}
ROWS, SCALED, VECTORS, SCORES = "X", "scaled", "vectors", "scores"


def to_onnx(model: RMLS, path: str | PathLike[str]) -> None:
    """Write a fitted `RMLS` as an ONNX file.

    Parameters
    ----------
    model : RMLS
    path : str or path
        The file; it appears when it is complete.

    Notes
    -----
    Input ``X`` is float32, dense, of shape (rows, features), raw as it was given to `fit`. Outputs
    are ``scores``, those of ``decision_function``, and ``vectors``, the representation of the rows.
    The names of the labels are in the metadata, key ``labels``, as JSON. Probabilities and decision
    rules are not part of the file.
    """
    if type(model) is not RMLS:
        raise InputError(
            f"{type(model).__name__} cannot be written as ONNX at equal scores; RMLS can. "
            "Save it with save, or serve it with rmls serve."
        )
    check_is_fitted(model)
    onnx = import_extra("onnx", "onnx", "writing ONNX")
    params = model._vectors.params
    if sum(array.nbytes for array in params) > MAX_BYTES:
        raise InputError("the model has more than the 2 GB that an ONNX file can hold.")
    graph = _Graph(onnx)
    scaled = graph.scale(model._normalizer)
    graph.add("MatMul", [scaled, graph.constant("W", params.W)], "projected")
    if model.activation in ACTIVATIONS:
        graph.add("Add", ["projected", graph.constant("b", params.b)], "shifted")
        graph.add(ACTIVATIONS[model.activation], ["shifted"], VECTORS)
    else:
        graph.add("Add", ["projected", graph.constant("b", params.b)], VECTORS)
    graph.add("MatMul", [VECTORS, graph.constant("L", params.L.T)], "products")
    graph.add("Add", ["products", graph.constant("c", params.c)], SCORES)
    made = graph.finish(len(params.W), len(params.b), len(params.c))
    names = [str(name) for name in model.classes_.tolist()]
    onnx.helper.set_model_props(made, {"labels": json.dumps(names, ensure_ascii=False)})
    onnx.checker.check_model(made)
    with replacing(Path(path)) as stream:
        stream.write(made.SerializeToString())


class _Graph:
    """Nodes and constants, one after the other."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any) -> str:
        """Add an array; return its name."""
        array: NDArray[np.float32] = np.ascontiguousarray(value, np.float32)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Add a node; return what it gives."""
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [output], **attributes))
        return output

    def scale(self, normalizer: Normalizer | None) -> str:
        """Add what `Normalizer.apply` does."""
        mode = "none" if normalizer is None else normalizer.mode
        if normalizer is None or mode == "none":
            return ROWS
        if mode == "standardize":
            bound = MAX_DEVIATIONS / np.sqrt(len(normalizer.mean))
            self.add("Sub", [ROWS, self.constant("mean", normalizer.mean)], "centred")
            return self._clip("centred", normalizer.scale, bound, SCALED)
        values = ROWS
        if mode == "rescale":
            values = self._clip(ROWS, normalizer.scale, MAX_DEVIATIONS, "bounded")
        elif mode == "log_l2":
            self.add("Relu", [ROWS], "counts")
            self.add("Add", ["counts", self.constant("one", 1.0)], "larger")
            values = self.add("Log", ["larger"], "logarithms")
        return self._unit(values)

    def _clip(self, values: str, scale: NDArray[np.float32], bound: float, output: str) -> str:
        self.add("Mul", [values, self.constant("scale", scale)], "multiplied")
        bounds = [self.constant("low", -bound), self.constant("high", bound)]
        return self.add("Clip", ["multiplied", *bounds], output)

    def _unit(self, values: str) -> str:
        self.add("ReduceL2", [values], "length", axes=[1], keepdims=1)
        # Empty rows stay empty.
        self.add("Max", ["length", self.constant("shortest", SHORTEST)], "divisor")
        return self.add("Div", [values, "divisor"], SCALED)

    def finish(self, n_features: int, n_components: int, n_labels: int) -> Any:
        """Return the model."""
        helper, kind = self.onnx.helper, self.onnx.TensorProto.FLOAT
        inputs = [helper.make_tensor_value_info(ROWS, kind, ["rows", n_features])]
        outputs = [
            helper.make_tensor_value_info(name, kind, ["rows", size])
            for name, size in ((SCORES, n_labels), (VECTORS, n_components))
        ]
        graph = helper.make_graph(self.nodes, "rmls", inputs, outputs, self.constants)
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="rmls",
            producer_version=VERSION,
        )
