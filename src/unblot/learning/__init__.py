"""Likelihood maximisation (Sec. 3 and 4, Eqs. 6-8)."""
