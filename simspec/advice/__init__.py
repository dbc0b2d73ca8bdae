"""From numbers to a decision: which κ, what it gains, whether to speculate at all."""
