"""unblot: learn a page's own characters from that page alone, and give the page back clean."""

__version__ = "0.1.0"
