"""The generative model (Sec. 2, Eqs. 1-5)."""
