"""Names as rows: the words of what labels are called."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from rmls.core.lean.plain_rows import as_csr
from rmls.features.text.scanning import scan_names
from rmls.features.text.term_block import stack_rows
from rmls.features.text.terms import WORDS, word_terms
from rmls.features.text.text_features import TextFeatures


def name_rows(features: TextFeatures, names: Sequence[str]) -> sparse.csr_matrix:
    """Return the words of names, whatever fields and columns the rows of texts have.

    Examples
    --------
    >>> features = TextFeatures(stem="none", pairs=True).fit(["a tax on sugar"])
    >>> name_rows(features, ["Sugar tax", "law"]).getnnz(axis=1).tolist()
    [2, 0]
    """
    words, late = features._blocks[WORDS], features._late
    scans = scan_names(names)
    shape = (len(names), features.n_terms_)
    if late is None:
        parts = [words.transform(word_terms(scan, features._stems)) for scan in scans]
        found = stack_rows(parts, features.n_terms_)
        # Words come first, whatever other kinds of terms there are.
        return sparse.csr_matrix((found.data, found.indices, found.indptr), shape)
    both = [late.transform({WORDS: word_terms(scan, late.stems)}, {WORDS: words}) for scan in scans]
    learned = as_csr(stack_rows([part[0] for part in both], len(words.idf)))
    added = stack_rows([part[1] for part in both], late.n_terms)
    others = sparse.csr_matrix((len(names), shape[1] - learned.shape[1] - added.shape[1]))
    joined: sparse.csr_matrix = sparse.hstack([learned, others, added], "csr", np.float32)
    return joined
