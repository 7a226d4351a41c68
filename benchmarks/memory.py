"""Peak memory of training and ranking RMLS on `debdeps` (30,880 labels), against its budget.

The budget is what cannot be avoided (parameters, accumulators, the data) plus 300 MB for the
interpreter, the libraries and all working memory together.

    python benchmarks/memory.py [--components 250] [--passes 2]
"""

from __future__ import annotations

import argparse
import resource

from rmls import RMLS
from rmls.core.errors import RmlsError
from rmls.datasets import load, make_longtail

MB = 1 << 20


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def size_of(*matrices):
    return sum(m.data.nbytes + m.indices.nbytes + m.indptr.nbytes for m in matrices)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--components", type=int, default=250)
    parser.add_argument("--passes", type=int, default=2)
    options = parser.parse_args()
    try:
        data = load("debdeps")
    except RmlsError:
        data = make_longtail(51797, 27706, 30880, labels_per_row=5.07, features_per_row=30.0)
        print("debdeps is not at hand; using generated data of its size")
    loaded = peak()
    split = data.n_train
    model = RMLS(options.components, max_iter=options.passes, n_jobs=2)
    model.fit(data.X[:split], data.Y[:split])
    trained = peak()
    model.rank(data.X[split:], k=100)
    ranked = peak()
    d, m = data.n_features, data.n_labels
    parameters = 4 * (d + m) * options.components
    accumulators = 4 * (d + m)
    data_bytes = size_of(data.X, data.Y)
    budget = parameters + accumulators + data_bytes + 300 * MB
    print(f"parameters   {parameters / MB:8.0f} MB")
    print(f"accumulators {accumulators / MB:8.0f} MB")
    print(f"data         {data_bytes / MB:8.0f} MB")
    print(f"budget       {budget / MB:8.0f} MB  (the three and 300 MB)")
    print(f"peak after loading  {loaded / MB:8.0f} MB")
    print(f"peak after training {trained / MB:8.0f} MB  ratio to the budget {trained / budget:.2f}")
    print(f"peak after ranking  {ranked / MB:8.0f} MB  ratio to the budget {ranked / budget:.2f}")


if __name__ == "__main__":
    main()
