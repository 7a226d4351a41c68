"""Methods that ask the nearest training rows."""
