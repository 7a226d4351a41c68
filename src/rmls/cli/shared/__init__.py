"""What the commands share: options, input and output, tables, failures."""
