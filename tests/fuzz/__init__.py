"""A campaign of hostile files, models, fits and kills; see docs/testing.md."""

import sys
from pathlib import Path

# What tests share; pytest knows the folder by itself.
sys.path.append(str(Path(__file__).parents[1] / "samples"))
