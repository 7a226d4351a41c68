"""Hot loops of resamplers and stratified folds.

``round_robin`` clones and deletes rows label by label (ML-ROS, ML-RUS), ``bag_neighbours`` finds
the neighbours between which MLSMOTE makes new rows, ``stratify`` spreads labels over folds.
"""
