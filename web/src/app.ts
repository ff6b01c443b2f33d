// The page: puts the pieces together and passes on what the person does.

import { Card } from "./card";
import type { Source } from "./codec";
import { Data } from "./data";
import { el, ICONS, icon } from "./dom";
import { helpDialog } from "./help";
import { keyHandler } from "./keys";
import { Legend } from "./legend";
import { mapPlacement } from "./panel";
import { download, fileName, records, toCsv, toPng, toSvg } from "./save";
import { Search } from "./search";
import { Sidebar } from "./sidebar";
import { Stage } from "./stage";
import { State, type Tool } from "./state";
import { type Sequence, sequences, Timeline } from "./timeline";

const MORPH = 800; // milliseconds from one map to the next

export class App {
  readonly state: State;
  readonly stage: Stage;
  readonly timeline: Timeline;
  readonly search: Search;
  readonly sidebar: Sidebar;
  readonly legend: Legend;
  readonly help = helpDialog();
  /** Called whenever the selection has changed. */
  onSelection: (rows: number[]) => void = () => {};
  /** Fulfilled when all parts of the data are there. */
  readonly complete: Promise<void>;
  private card: Card;
  private current = 0;
  private split = false;
  private morph = 0;
  private walkAt = -1;
  private tabs: HTMLButtonElement[] = [];
  private tools = new Map<Tool, HTMLButtonElement>();
  private splitButton!: HTMLButtonElement;
  private linkButton!: HTMLButtonElement;
  private drawerButton!: HTMLButtonElement;

  private constructor(
    readonly root: HTMLElement,
    readonly data: Data,
    source: Source,
  ) {
    this.state = new State(data);
    this.stage = new Stage(data, this.state, {
      hover: (row, x, y) => this.hover(row, x, y),
      click: (row) => this.pin(row === this.state.pinned ? -1 : row),
      region: (rows, how) => this.select(() => this.state.select(rows, how)),
      moved: () => this.closeHover(),
      resized: () => this.refreshCard(),
    });
    this.card = new Card(data, this.state, this.stage, (row) => this.go(row));
    this.stage.element.append(this.card.element);
    this.legend = new Legend(this.state, () => this.stage.repaint());
    this.search = new Search(data, this.state, {
      found: (hits) => {
        this.state.hits = hits;
        this.walkAt = -1;
        this.stage.repaint();
      },
      go: (row) => this.go(row),
      select: (hits) => {
        this.search.clear();
        this.select(() => this.state.selectMask(hits));
      },
    });
    this.sidebar = new Sidebar(this.state, this.legend, {
      coloring: () => this.recolor(),
      changed: () => this.stage.repaint(),
      drawn: () => this.stage.redraw(),
      seams: (visible) => {
        this.stage.overlay.seamsVisible = visible;
        this.stage.redraw();
      },
      names: (visible) => {
        this.stage.overlay.namesVisible = visible;
        this.stage.redraw();
      },
      invert: () => this.select(() => this.state.invert()),
      clear: () => this.select(() => this.state.select([], "replace")),
      save: (what) => void this.save(what),
    });
    this.timeline = new Timeline((sequence, position) => this.showMoment(sequence, position));
    this.build();
    this.setDark(matchMedia("(prefers-color-scheme: dark)").matches);
    this.setSplit(data.maps.length > 1 && data.maps.length <= 4 && root.clientWidth > 720);
    this.complete = this.loadRest(source);
  }

  static async start(root: HTMLElement, source: Source): Promise<App> {
    const app = new App(root, await Data.open(source), source);
    performance.mark("winkel-ready");
    return app;
  }

  /** Give back what the graphics card holds. */
  dispose(): void {
    this.timeline.pause();
    this.stage.dispose();
    this.root.remove();
  }

  private async loadRest(source: Source): Promise<void> {
    this.timeline.setSequences(sequences(this.data));
    for (const part of this.data.parts) {
      await new Promise((resolve) => setTimeout(resolve)); // let the page answer in between
      await this.data.add(part, source);
      if (part === "rows" || part === "features") this.sidebar.update();
      if (part === "frames") this.timeline.setSequences(sequences(this.data));
    }
    this.timeline.settle(this.split ? null : this.current);
    if (this.state.coloring.kind === "none") {
      this.state.coloring = this.state.colorings()[0];
      this.sidebar.update();
      this.recolor();
    }
    this.sidebar.updateSelection();
    const idle = window.requestIdleCallback ?? ((act: () => void) => setTimeout(act, 500));
    idle(() => this.stage.grids.of(this.current)); // so that the first look at a point need not wait for it
  }

  // ------------------------------------------------------------------ the frame of the page

  private build(): void {
    const { data, root } = this;
    const button = (name: string, shape: string, click: () => void, ...extra: string[]) =>
      el("button", { type: "button", class: ["wk-button", ...extra].join(" "), title: name, "aria-label": name, on: { click } }, icon(shape));
    const tool = (which: Tool, name: string) => {
      const made = button(name, ICONS[which], () => this.setTool(which));
      this.tools.set(which, made);
      return made;
    };
    this.splitButton = button("All maps side by side (S)", ICONS.split, () => this.setSplit(!this.split));
    this.linkButton = button("Link the views (K)", ICONS.link, () => this.setLinked(!this.stage.linked));
    this.drawerButton = button("Controls", ICONS.panel, () => this.setDrawer(!root.classList.contains("wk-open")), "wk-only-small");
    this.setDrawer(false);
    this.tabs = data.maps.map(({ name }, map) => el("button", { type: "button", class: "wk-tab", role: "tab", on: { click: () => this.showMap(map) } }, el("bdi", {}, name)));
    const several = data.maps.length > 1;
    const head = el(
      "header",
      { class: "wk-head" },
      el("h1", {}, el("bdi", {}, data.title || "Map")),
      el("span", { class: "wk-size" }, `${data.n.toLocaleString("en")} rows`),
      el("div", { class: "wk-tabs", role: "tablist", "aria-label": "Maps", hidden: !several }, ...this.tabs),
      el("div", { class: "wk-tools", role: "toolbar", "aria-label": "Tools" }, tool("pan", "Move (V)"), tool("lasso", "Lasso (L)"), tool("box", "Box (B)"), button("First view; again: all points (0)", ICONS.fit, () => this.fit()), several && this.splitButton, several && this.linkButton),
      this.search.element,
      el("div", { class: "wk-tools" }, button("Light or dark (T)", ICONS.theme, () => this.setDark(!this.state.dark)), button("Help (?)", ICONS.help, () => this.help.showModal()), this.drawerButton),
    );
    root.classList.add("wk");
    root.replaceChildren(head, el("main", { class: "wk-main" }, el("div", { class: "wk-center" }, this.stage.element, this.timeline.element), this.sidebar.element), this.help);
    // A page listens everywhere, a notebook's cell only to itself.
    (root.parentElement === document.body ? document : root).addEventListener("keydown", keyHandler(this) as EventListener);
    this.setTool("pan");
    this.legend.update();
  }

  setDark(dark: boolean): void {
    this.state.dark = dark;
    this.root.dataset.theme = dark ? "dark" : "light";
    this.recolor();
  }

  setTool(tool: Tool): void {
    this.state.tool = tool;
    this.stage.element.dataset.tool = tool;
    for (const [which, button] of this.tools) button.setAttribute("aria-pressed", String(which === tool));
  }

  /** Open or close what stands beside the map; a small screen shows it as a drawer. */
  setDrawer(open: boolean): void {
    this.root.classList.toggle("wk-open", open);
    this.drawerButton.setAttribute("aria-expanded", String(open));
  }

  setLinked(linked: boolean): void {
    this.stage.linked = linked;
    this.linkButton.setAttribute("aria-pressed", String(linked));
    const [first, ...others] = this.stage.panels;
    if (linked) for (const panel of others) if (panel.camera.dimensions === first.camera.dimensions) panel.camera.copy(first.camera);
    this.stage.redraw();
  }

  /** All maps side by side, or the current one alone. */
  setSplit(split: boolean): void {
    this.split = split && this.data.maps.length > 1;
    this.stopMoving();
    this.stage.arrange(this.split ? this.data.maps.map((_, map) => map) : [this.current]);
    this.splitButton.setAttribute("aria-pressed", String(this.split));
    this.markTabs();
    this.timeline.settle(this.split ? null : this.current);
    this.refreshCard();
  }

  toggleSplit(): void {
    this.setSplit(!this.split);
  }

  /** Show one map alone; from another one the points move to their new places. */
  showMap(map: number): void {
    if (map < 0 || map >= this.data.maps.length) return;
    const before = this.split ? map : this.current;
    this.current = map;
    if (this.split || before === map) {
      this.setSplit(false);
      return;
    }
    this.stopMoving();
    const old = this.stage.panelOf(before);
    const panel = this.stage.panelOf(map);
    if (old.camera.dimensions === panel.camera.dimensions) panel.camera.copy(old.camera);
    this.stage.arrange([map]);
    this.markTabs();
    this.timeline.settle(map);
    this.refreshCard();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const [from, to, begin] = [mapPlacement(this.data, before), mapPlacement(this.data, map), performance.now()];
    const step = (now: number) => {
      const t = Math.max(0, Math.min(1, (now - begin) / MORPH));
      panel.between(from, to, t * t * (3 - 2 * t));
      if (t < 1) this.morph = requestAnimationFrame(step);
      else panel.show(map);
      this.stage.redraw();
    };
    step(begin);
  }

  private markTabs(): void {
    this.tabs.forEach((tab, map) => tab.setAttribute("aria-selected", String(!this.split && map === this.current)));
  }

  private stopMoving(): void {
    cancelAnimationFrame(this.morph);
    this.timeline.pause();
  }

  private showMoment(sequence: Sequence, position: number): void {
    cancelAnimationFrame(this.morph);
    const from = Math.min(Math.floor(position), sequence.stops.length - 2);
    const [a, b] = [sequence.stops[Math.max(0, from)], sequence.stops[from + 1]];
    const map = sequence.map ?? (position - from < 0.5 ? a : b).map;
    const alone = this.split && sequence.map !== null;
    if (!alone && (this.split || this.current !== map)) {
      this.split = false;
      this.current = map;
      this.stage.arrange([map]);
      this.splitButton.setAttribute("aria-pressed", "false");
      this.markTabs();
    }
    const panel = this.stage.panelOf(map);
    if (position >= sequence.stops.length - 1) panel.show(map);
    else panel.between(a.placement, b.placement, position - from);
    this.stage.redraw();
  }

  fit(): void {
    this.stage.fit();
    this.closeHover();
  }

  recolor(): void {
    this.legend.update();
    this.sidebar.updateSelection();
    this.stage.repaint();
  }

  // ------------------------------------------------------------------ rows

  private hover(row: number, x: number, y: number): void {
    const changed = row !== this.state.hover;
    this.state.hover = row;
    if (row < 0 && this.state.pinned >= 0) {
      if (changed) this.refreshCard();
    } else if (changed) this.card.show(x, y);
    this.stage.element.classList.toggle("wk-on-point", row >= 0);
    if (changed) this.stage.redraw();
  }

  private closeHover(): void {
    this.state.hover = -1;
    this.refreshCard();
  }

  /** Keep the card of a row open; −1: of none. */
  pin(row: number): void {
    this.state.pinned = row;
    this.state.hover = -1;
    if (row >= 0) this.setDrawer(false); // a small screen has no room for both
    this.refreshCard();
    this.stage.redraw();
  }

  private refreshCard(): void {
    const row = this.state.focus;
    const panel = this.stage.panels[0];
    const at = row >= 0 ? panel.pixel(row) : null;
    this.card.show(panel.rect.x + (at?.[0] ?? 0), panel.rect.y + (at?.[1] ?? 0));
  }

  /** Bring a row into view and open its card. */
  go(row: number): void {
    this.stage.center(row);
    this.pin(row);
  }

  /** The next row found or selected. */
  walk(step: number): void {
    if (this.state.hits) {
      this.search.next(step);
      return;
    }
    const rows = this.state.selectedRows();
    if (rows.length === 0) return;
    this.walkAt = (this.walkAt + step + rows.length) % rows.length;
    this.go(rows[this.walkAt]);
  }

  select(change: () => void): void {
    change();
    this.walkAt = -1;
    this.sidebar.updateSelection();
    this.stage.repaint();
    this.onSelection(this.state.selectedRows());
  }

  /** Close what is open, one thing at a time. */
  escape(): void {
    if (this.state.pinned >= 0) this.pin(-1);
    else if (this.state.hits) this.search.clear();
    else if (this.state.selectedCount > 0) this.select(() => this.state.select([], "replace"));
    else if (this.state.isolated.size > 0) {
      this.state.isolated.clear();
      this.recolor();
    }
  }

  async save(what: "csv" | "json" | "png" | "svg"): Promise<void> {
    const { data, state, stage } = this;
    const name = (ending: string) => fileName(data.title, ending === "png" || ending === "svg" ? "map" : "selection", ending);
    if (what === "png") download(name("png"), await toPng(stage));
    else if (what === "svg") download(name("svg"), new Blob([toSvg(stage, state)], { type: "image/svg+xml" }));
    else {
      const list = records(data, state.selectedRows());
      const text = what === "csv" ? toCsv(list) : JSON.stringify(list, null, 1);
      download(name(what), new Blob([text], { type: what === "csv" ? "text/csv" : "application/json" }));
    }
  }
}
