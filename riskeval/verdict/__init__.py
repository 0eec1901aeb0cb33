"""The verdict on a file: what was found, what exceeds a limit, what was not tried."""
