"""`rmls learn` and `rmls labels`: a trained model goes on."""
