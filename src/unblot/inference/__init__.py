"""The posterior over class, position and mask (Sec. 3, Eqs. 9-14)."""
