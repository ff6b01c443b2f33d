// What sets the selection apart: the columns, and words, by which it differs most from all other rows.

import { short } from "./card";
import { type Column, formatNumber } from "./data";
import { el, replace } from "./dom";
import { type Difference, explain, Words } from "./explain";
import type { State } from "./state";

const LISTED = 8;
const CHANCE = 0.05;

export class Reasons {
  readonly element = el("div", { class: "wk-reasons" });
  private words: Words | null | undefined;
  private timer = 0;

  constructor(
    private state: State,
    private colorBy: (column: Column) => void,
  ) {}

  /** Columns and words of the present selection, the largest difference first. */
  differences(): Difference[] {
    const { data, selected } = this.state;
    const columns = [data.labels, ...data.values, ...data.fields, ...data.features].filter((column) => column !== null);
    if (this.words === undefined) this.words = Words.of(data.n, data.text);
    const words = this.words?.explain(selected) ?? [];
    const found = [...explain(columns, selected, data.featuresLeftOut), ...words];
    return found.sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
  }

  /** Show them, a moment later: the selection itself is to be seen at once. */
  update(): void {
    clearTimeout(this.timer);
    const { selectedCount, data } = this.state;
    if (selectedCount === 0 || selectedCount === data.n) {
      replace(this.element);
      return;
    }
    this.timer = window.setTimeout(() => this.show(this.differences()), 30);
  }

  private show(found: Difference[]): void {
    if (found.length === 0) {
      replace(this.element);
      return;
    }
    const listed = found.slice(0, LISTED).filter(({ effect }) => effect !== 0);
    const most = Math.max(...listed.map(({ effect }) => Math.abs(effect)), 1e-9);
    const all = found.length + this.state.data.featuresLeftOut;
    const how = `Difference of the means in standard deviations; p by Welch's test, corrected for the ${all} columns and words examined. A selection on a map of the same columns is not random, so p only shows which differences are small.`;
    const head = el("tr", {}, el("td", {}), el("th", { scope: "col", title: how }, "effect"), el("th", { scope: "col" }, "here"), el("th", { scope: "col" }, "others"));
    const rows = listed.map((one) => this.row(one, most));
    replace(
      this.element,
      el("h2", { title: how }, "What sets them apart"),
      el("div", { class: "wk-scores", tabIndex: 0, role: "region", "aria-label": "What sets the selection apart" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows))),
      el("p", { class: "wk-note" }, `${all.toLocaleString("en")} examined; grey: may be chance`),
    );
  }

  private row({ name, effect, inside, outside, p, column }: Difference, most: number): HTMLElement {
    const bar = el("span", { class: "wk-effect" });
    bar.style.width = `${(50 * Math.abs(effect)) / most}%`;
    bar.style[effect < 0 ? "right" : "left"] = "50%";
    const text = short(name, 30);
    const title = `${name}\np = ${p < 1e-300 ? "0" : p.toPrecision(2)} after correction`;
    const named = column ? el("button", { type: "button", class: "wk-link", title: `${title}\nclick: colour by it`, on: { click: () => this.colorBy(column) } }, el("bdi", {}, text)) : el("bdi", { title }, text);
    const number = (value: number) => el("td", {}, formatNumber(Number(value.toPrecision(3))));
    return el(
      "tr",
      { class: p > CHANCE ? "wk-chance" : "" },
      el("th", { scope: "row" }, named, el("span", { class: "wk-effects", "aria-hidden": "true" }, bar)),
      el("td", {}, `${effect > 0 ? "+" : "−"}${Math.abs(effect).toFixed(2)}`),
      number(inside),
      number(outside),
    );
  }
}
