"""What can be asked, one family of addresses a file."""
