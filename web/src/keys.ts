// What the keys do; the help panel lists them.

import type { App } from "./app";

const STEP = 60; // pixels an arrow key moves the map

export function keyHandler(app: App): (event: KeyboardEvent) => void {
  const { stage } = app;
  const each = (act: (panel: (typeof stage.panels)[number]) => void) => () => (stage.linked ? stage.panels.slice(0, 1) : stage.panels).forEach(act);
  const pan = (dx: number, dy: number) => each((panel) => stage.pan(panel, dx, dy));
  const zoom = (factor: number) => each((panel) => stage.zoom(panel, factor));
  const keys: Record<string, (event: KeyboardEvent) => void> = {
    ArrowLeft: pan(STEP, 0),
    ArrowRight: pan(-STEP, 0),
    ArrowUp: pan(0, STEP),
    ArrowDown: pan(0, -STEP),
    "+": zoom(1.3),
    "=": zoom(1.3),
    "-": zoom(1 / 1.3),
    "0": () => app.fit(),
    f: () => app.fit(),
    v: () => app.setTool("pan"),
    l: () => app.setTool("lasso"),
    b: () => app.setTool("box"),
    "/": () => app.search.input.focus(),
    "?": () => app.help.showModal(),
    n: (event) => app.walk(event.shiftKey ? -1 : 1),
    s: () => app.toggleSplit(),
    k: () => app.setLinked(!stage.linked),
    " ": () => app.timeline.toggle(),
    i: () => app.select(() => app.state.invert()),
    t: () => app.setDark(!app.state.dark),
    m: () => {
      stage.overlay.linesVisible = !stage.overlay.linesVisible;
      stage.redraw();
    },
    j: () => app.sidebar.toggleSeams(),
    a: () => app.sidebar.toggleNames(),
    Escape: () => app.escape(),
  };
  for (let map = 0; map < 9; map++) keys[String(map + 1)] = () => app.showMap(map);
  return (event) => {
    const target = event.target as HTMLElement;
    const typing = target.matches("input[type=search]") || app.help.open;
    const control = target.matches("input, select, button") && [" ", "Enter", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].includes(event.key);
    if (typing || control || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation(); // a notebook has keys of its own
    act(event);
  };
}
