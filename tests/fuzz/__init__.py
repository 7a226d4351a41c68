"""A campaign of hostile files, models, fits and kills; see docs/testing.md."""
