"""Names as rows: the words of what labels are called."""

from __future__ import annotations

from collections.abc import Sequence

from scipy import sparse

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
    words = features._blocks[WORDS]
    parts = [words.transform(word_terms(scan, features._stems)) for scan in scan_names(names)]
    found = stack_rows(parts, features.n_terms_)
    # Words come first, whatever other kinds of terms there are.
    shape = (len(names), features.n_terms_)
    return sparse.csr_matrix((found.data, found.indices, found.indptr), shape)
