"""Everything that a person sees. Pictures need matplotlib and the server needs starlette; both are imported only here, and only when used.

plots.py      a map, several maps (layers.py: what is drawn on them)      charts.py   curves and histograms
animation.py  maps that move                                             explorer.py the page to explore maps in a browser
server.py     pages for this computer only                               feed.py     a map as it forms, for such a page
decoded.py    what places on a map stand for                              tiles.py    a map of millions in tiles, for such a page
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
