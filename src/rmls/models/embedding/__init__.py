"""Other methods that learn vectors of rows and labels: WSABIE, LEML, BMLPL."""
