"""Scripts that regenerate the papers' tables and figures."""
