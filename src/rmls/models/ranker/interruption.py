"""What is left of a training that Ctrl-C has ended."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rmls.models.ranker.archive import no_weights
from rmls.models.ranker.combination import HeldOut
from rmls.models.ranker.label_index import build_index
from rmls.models.ranker.scoring import Proposer, Stages, scaled_positives
from rmls.models.shared.training_set import TrainingSet

if TYPE_CHECKING:
    from rmls.models.ranker.sources import Folds
    from rmls.models.ranker.trainer import StageTrainer

# As many as are held out of a training that is not interrupted.
SCORED_ROWS = 2_000


def keep_best(trainer: StageTrainer, data: TrainingSet, folds: Folds) -> tuple[Stages, HeldOut]:
    """Return what Ctrl-C has left, with the scores that the combination is learned from."""
    vectors, kept = trainer.vectors, "the model is kept"
    if vectors is None:
        raise KeyboardInterrupt
    if trainer.stages is None:
        when = trainer.interrupted or "before the classifiers were trained"
        trainer.interrupted = f"{when}; {kept} without classifiers"
        index, recall = build_index("exact", vectors, vectors.params.L[:0], 0, 0)
        proposer = Proposer(vectors, index, trainer.size)
        weights = no_weights(data.n_labels, data.n_features, vectors.device)
        trainer.stages = Stages(proposer, weights, recall, scaled_positives(data))
    elif len(data.held_out):
        if trainer.classifiers is not None:
            trainer.stages = replace(trainer.stages, weights=trainer.classifiers.weights())
        trainer.interrupted = f"before the held-out rows were learned; {kept}"
    else:
        n_done = f"{len(trainer.parts)} of {folds.n_scored}"
        trainer.interrupted = f"after {n_done} models for the combination; {kept}"
        trainer.has_held_out = bool(trainer.parts)
    if trainer.parts:
        return trainer.stages, HeldOut.stack(trainer.parts)
    rows = data.left_out if len(data.held_out) else data.first(SCORED_ROWS)
    return trainer.stages, trainer.score(trainer.stages, rows)
