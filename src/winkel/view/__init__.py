"""What a person sees. Needs matplotlib for pictures and starlette for the server, imported only here and when used.

plots.py      a map, several maps (layers.py: what is drawn on them)      charts.py   curves and histograms beside maps
animation.py  maps that move                                             explorer.py the page to explore maps in a browser
server.py     pages for this computer alone                              feed.py     a map as it forms, for such a page
decoded.py    what places of a map stand for                              tiles.py    a map of millions in tiles, for such a page
"""

from .animation import animate
from .charts import plot_angles, plot_distortions, plot_history
from .decoded import plot_decoded
from .explorer import explore, write_html
from .plots import plot, plot_maps

__all__ = [
    "animate",
    "explore",
    "plot",
    "plot_angles",
    "plot_decoded",
    "plot_distortions",
    "plot_history",
    "plot_maps",
    "write_html",
]
