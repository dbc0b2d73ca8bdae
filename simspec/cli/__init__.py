"""The command line: one thin file per command, no arithmetic."""
