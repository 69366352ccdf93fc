"""Cleaning of corrupted documents (Sec. 5)."""
