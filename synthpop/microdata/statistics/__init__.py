"""Statistics on arrays: weighted, robust, of tails and designs; intervals, formulas, streams."""
