"""What a person sees: pictures of maps. Needs matplotlib, which is imported only here and only when used."""

from .plots import plot, plot_maps

__all__ = ["plot", "plot_maps"]
