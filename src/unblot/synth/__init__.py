"""Dirty pages made to order, with exact truth."""
