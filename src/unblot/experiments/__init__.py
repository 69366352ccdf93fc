"""The paper's experiments, each with its figures and its table."""
