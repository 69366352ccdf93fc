"""Characters found on patches (Sec. 4, Eqs. 15 and 16)."""
