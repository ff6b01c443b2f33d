"""What a person sees: pictures of maps (matplotlib, imported only when used) and the explorer page."""

from .explorer import explore, write_html
from .plots import plot, plot_maps

__all__ = ["explore", "plot", "plot_maps", "write_html"]
