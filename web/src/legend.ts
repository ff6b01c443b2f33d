// What the colours mean: classes to isolate by a click, or a scale with its histogram.

import { css, scaleColor } from "./color";
import type { Numbers } from "./codec";
import { type CategoryColumn, formatNumber } from "./data";
import { el, replace } from "./dom";
import { short } from "./card";
import type { State } from "./state";

const BINS = 48;

export class Legend {
  readonly element = el("div", { class: "wk-legend" });

  constructor(
    private state: State,
    private changed: () => void,
  ) {}

  update(): void {
    const { coloring, data } = this.state;
    if (coloring.kind === "category") this.categories(coloring.column);
    else if (coloring.kind === "number") {
      const { values, low, high } = coloring.column;
      this.scale(values, low, high, formatNumber);
    } else if (coloring.kind === "reliability") {
      const shown = data.maps.find((map) => map.reliability)!.reliability!;
      this.scale(shown, 0, this.state.mostReliable, (v) => `${Math.round(v / 2.55)} %`);
    } else replace(this.element);
  }

  private categories(column: CategoryColumn): void {
    const { isolated } = this.state;
    const entries = column.names.map((name, code) => {
      const swatch = el("span", { class: "wk-swatch" });
      swatch.style.background = css(this.state.categoryColor(code));
      return el(
        "button",
        {
          type: "button",
          class: "wk-entry",
          "aria-pressed": isolated.has(code),
          "data-code": code,
          title: short(name, 300),
          on: { click: (event: MouseEvent) => this.isolate(code, event.shiftKey || event.ctrlKey || event.metaKey) },
        },
        swatch,
        el("bdi", { class: "wk-entry-name" }, short(name, 60)),
        el("span", { class: "wk-count" }, column.counts[code].toLocaleString("en")),
      );
    });
    this.element.classList.toggle("wk-some", isolated.size > 0);
    replace(this.element, ...entries);
  }

  /** Show only one class; again: all; with shift or control: one more or one less. */
  private isolate(code: number, more: boolean): void {
    const { isolated } = this.state;
    const was = isolated.has(code);
    const alone = was && isolated.size === 1;
    if (!more) isolated.clear();
    if (more ? !was : !alone) isolated.add(code);
    else isolated.delete(code);
    this.changed();
    this.update();
    this.element.querySelector<HTMLElement>(`[data-code="${code}"]`)?.focus();
  }

  private scale(values: Numbers, low: number, high: number, format: (v: number) => string): void {
    const counts = new Float64Array(BINS);
    const step = BINS / (high - low || 1);
    for (let i = 0; i < values.length; i++) {
      const bin = Math.floor((values[i] - low) * step);
      counts[Math.max(0, Math.min(BINS - 1, bin || 0))]++;
    }
    const canvas = el("canvas", { class: "wk-scale", width: BINS * 4, height: 56, role: "img", "aria-label": "histogram of the values" });
    const pen = canvas.getContext("2d")!;
    const most = Math.max(...counts) || 1;
    counts.forEach((count, bin) => {
      pen.fillStyle = css(scaleColor((bin + 0.5) / BINS));
      const tall = Math.round((42 * count) / most);
      pen.fillRect(bin * 4, 44 - tall, 3, tall);
      pen.fillRect(bin * 4, 48, 4, 8);
    });
    let [below, above] = ["", ""];
    for (let i = 0; i < values.length; i++) {
      if (values[i] < low) below = "≤ ";
      if (values[i] > high) above = "≥ ";
    }
    const ends = el("div", { class: "wk-ends" }, el("span", {}, below, format(low)), el("span", {}, above, format(high)));
    replace(this.element, canvas, ends);
  }
}
