"""Training beyond one memory or one machine; imported when it is asked for."""
