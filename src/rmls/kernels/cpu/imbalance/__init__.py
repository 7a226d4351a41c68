"""Hot loops of resamplers and stratified folds."""
