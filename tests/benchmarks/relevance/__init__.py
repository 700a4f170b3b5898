"""How good the answers are, and what the third step costs: `python -m tests.benchmarks.relevance`."""
