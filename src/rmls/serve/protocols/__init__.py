"""What other tools send and expect: Annif, the Open Inference Protocol, Label Studio."""
