// The controls beside the maps.

import { el, replace } from "./dom";
import { short } from "./card";
import type { Column } from "./data";
import type { Legend } from "./legend";
import { Reasons } from "./reasons";
import type { State } from "./state";

export interface SidebarEvents {
  coloring(): void;
  changed(): void;
  drawn(): void;
  seams(visible: boolean): void;
  names(visible: boolean): void;
  invert(): void;
  clear(): void;
  save(what: "csv" | "json" | "png" | "svg"): void;
}

let ids = 0;
const newId = () => `wk-control-${++ids}`;

export class Sidebar {
  readonly element = el("aside", { class: "wk-side", "aria-label": "Controls" });
  private colors = el("select", { id: newId(), on: { change: () => this.pick() } });
  private selection = el("section", { class: "wk-selection" });
  private trust = el("section", {});
  private seams = el("input", { id: newId(), type: "checkbox", checked: true, on: { change: () => this.events.seams(this.seams.checked) } });
  private names = el("input", { id: newId(), type: "checkbox", checked: true, on: { change: () => this.events.names(this.names.checked) } });
  private reasons: Reasons;

  constructor(
    private state: State,
    legend: Legend,
    private events: SidebarEvents,
  ) {
    this.reasons = new Reasons(state, (column) => this.colorBy(column));
    const colorBy = el("section", {}, el("label", { for: this.colors.id }, "Colour by"), this.colors, legend.element);
    if (state.data.maps.some((map) => map.names.length > 0)) colorBy.append(this.check(this.names, "Names on the map", "Names of regions; more appear as you zoom in."));
    this.element.append(colorBy, this.trust, this.points(), this.selection, this.scores(), this.picture());
    const torn = state.data.maps.some((map) => map.seams.length > 0);
    this.trust.hidden = !state.hasReliability && !torn;
    if (torn) {
      const meaning = "Bands join places that are neighbours in the data but that the map has torn apart.";
      this.trust.append(this.check(this.seams, "Seams of torn places", meaning));
    }
    if (state.hasReliability) this.trust.append(
      this.slider("Fade below a reliability of", 0, 100, 0, (v) => `${v} %`, (v) => {
        state.threshold = v / 100;
        events.changed();
      }),
    );
    this.update();
    this.updateSelection();
  }

  private check(input: HTMLInputElement, name: string, meaning: string): HTMLElement {
    return el("div", { class: "wk-check", title: meaning }, input, el("label", { for: input.id }, name));
  }

  toggleNames(): void {
    this.names.checked = !this.names.checked;
    this.events.names(this.names.checked);
  }

  toggleSeams(): void {
    this.seams.checked = !this.seams.checked;
    this.events.seams(this.seams.checked);
  }

  /** The list of what there is to colour by. */
  update(): void {
    const list = this.state.colorings();
    replace(this.colors, ...list.map(({ name }) => el("option", {}, short(name, 60))));
    this.colors.selectedIndex = Math.max(0, list.findIndex((c) => c.name === this.state.coloring.name && c.kind === this.state.coloring.kind));
  }

  updateSelection(): void {
    const { selectedCount, data } = this.state;
    const button = (text: string, click: () => void) => el("button", { type: "button", class: "wk-small", on: { click } }, text);
    const none = selectedCount === 0;
    replace(
      this.selection,
      el("h2", {}, "Selection"),
      el(
        "p",
        { class: "wk-note", "aria-live": "polite", "data-selected": selectedCount },
        none ? "Nothing selected. Use lasso or box, or hold shift and drag." : `${selectedCount.toLocaleString("en")} of ${data.n.toLocaleString("en")} rows`,
      ),
      !none && this.summary(),
      !none && el("div", { class: "wk-row" }, button("CSV", () => this.events.save("csv")), button("JSON", () => this.events.save("json")), button("Invert", () => this.events.invert()), button("Clear", () => this.events.clear())),
      !none && this.reasons.element,
    );
    this.reasons.update();
  }

  /** Share of the largest classes in the selection. */
  private summary(): HTMLElement | null {
    const { coloring, selected, selectedCount } = this.state;
    if (coloring.kind !== "category") return null;
    const counts = new Uint32Array(coloring.column.names.length);
    for (let i = 0; i < selected.length; i++) if (selected[i]) counts[coloring.column.codes[i]]++;
    const largest = [...counts.keys()].filter((c) => counts[c] > 0).sort((a, b) => counts[b] - counts[a]).slice(0, 5);
    const rows = largest.map((code) => {
      const bar = el("span", { class: "wk-bar" });
      bar.style.width = `${(100 * counts[code]) / selectedCount}%`;
      bar.style.background = `rgb(${this.state.categoryColor(code).map(Math.round).join(" ")})`;
      return el("div", { class: "wk-share" }, el("bdi", {}, short(coloring.column.names[code], 24)), el("span", { class: "wk-track" }, bar), el("span", { class: "wk-count" }, counts[code].toLocaleString("en")));
    });
    return el("div", { class: "wk-shares" }, ...rows);
  }

  private colorBy(column: Column): void {
    const index = this.state.colorings().findIndex((coloring) => "column" in coloring && coloring.column === column);
    if (index < 0) return;
    this.colors.selectedIndex = index;
    this.pick();
  }

  private pick(): void {
    this.state.coloring = this.state.colorings()[this.colors.selectedIndex];
    this.state.isolated.clear();
    this.events.coloring();
  }

  private points(): HTMLElement {
    const { state } = this;
    return el(
      "section",
      {},
      this.slider("Point size", -10, 10, 0, (v) => `× ${(2 ** (v / 5)).toFixed(1)}`, (v) => {
        state.sizeFactor = 2 ** (v / 5);
        this.events.drawn();
      }),
      this.slider("Opacity", 5, 100, Math.round(state.opacity * 100), (v) => `${v} %`, (v) => {
        state.opacity = v / 100;
        this.events.drawn();
      }),
    );
  }

  private slider(name: string, min: number, max: number, value: number, format: (v: number) => string, act: (v: number) => void): HTMLElement {
    const output = el("output", {}, format(value));
    const input = el("input", {
      id: newId(),
      type: "range",
      min: String(min),
      max: String(max),
      value: String(value),
      on: {
        input: () => {
          output.textContent = format(Number(input.value));
          act(Number(input.value));
        },
      },
    });
    // The label names the slider alone: an output inside it would be taken for what is labelled.
    return el("div", { class: "wk-slider" }, el("span", {}, el("label", { for: input.id }, name), output), input);
  }

  private scores(): HTMLElement {
    const { scores, maps } = this.state.data;
    if (scores.length === 0) return el("section", { hidden: true });
    const beside = scores.some((row) => row.baseline !== null);
    // Room for a number of each map; what still does not fit is scrolled.
    this.element.style.setProperty("--wk-wider", `${48 * Math.min(Math.max(maps.length - 2, 0), 3)}px`);
    const head = el("tr", {}, el("td", {}), ...maps.map((map) => el("th", { scope: "col" }, el("bdi", {}, short(map.name, 18)))), beside && el("th", { scope: "col", title: "principal components in the same number of dimensions" }, "PCA"));
    const rows = scores.map(({ name, meaning, higher, values, baseline }) => {
      const known = values.filter((v) => v !== null);
      const best = higher === null || known.length < 2 ? null : higher ? Math.max(...known) : Math.min(...known);
      const cells = values.map((value) => el("td", { class: value !== null && value === best ? "wk-best" : "" }, value === null ? "–" : value.toFixed(3)));
      const arrow = higher === null ? "" : higher ? " ↑" : " ↓";
      const pca = beside && el("td", { class: "wk-quiet" }, baseline === null ? "–" : baseline.toFixed(3));
      return el("tr", { title: meaning }, el("th", { scope: "row" }, short(name, 40), arrow), ...cells, pca);
    });
    return el("section", {}, el("h2", {}, "How faithful"), el("div", { class: "wk-scores", tabIndex: 0, role: "region", "aria-label": "Scores" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows))));
  }

  private picture(): HTMLElement {
    const button = (what: "png" | "svg") => el("button", { type: "button", class: "wk-small", on: { click: () => this.events.save(what) } }, what.toUpperCase());
    return el("section", {}, el("h2", {}, "Picture"), el("div", { class: "wk-row" }, button("png"), button("svg")));
  }
}
