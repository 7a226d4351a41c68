"""`rmls demo`: a real text set, a real baseline, suggestions for works nobody trained on."""
