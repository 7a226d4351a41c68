"""The hot loops, over plain arrays. A backend is a module; all offer the same functions."""
