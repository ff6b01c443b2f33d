// Moving pictures: the way the optimisation took, and from one map to the next.

import type { Data } from "./data";
import { el, ICONS, icon, replace } from "./dom";
import type { Placement } from "./gl";
import { mapPlacement, placement } from "./panel";

/** A sequence of placements to move through. */
export interface Sequence {
  name: string;
  map: number | null; // the map it belongs to; null: through all maps
  stops: { placement: Placement; name: string; map: number }[];
}

export function sequences(data: Data): Sequence[] {
  const list: Sequence[] = data.frames.map(({ map, frames, iterations, scale, shift }) => {
    const stops = frames.map((points, f) => ({ placement: placement(data, map, points, scale, shift), name: `iteration ${iterations[f]}`, map }));
    stops.push({ placement: mapPlacement(data, map), name: "result", map });
    return { name: data.maps.length > 1 ? `Optimisation of ${data.maps[map].name}` : "Optimisation", map, stops };
  });
  if (data.maps.length > 1) {
    const stops = data.maps.map(({ name }, map) => ({ placement: mapPlacement(data, map), name, map }));
    list.push({ name: "From map to map", map: null, stops });
  }
  return list;
}

export class Timeline {
  readonly element = el("div", { class: "wk-timeline", hidden: true });
  playing = false;
  private list: Sequence[] = [];
  private chosen = 0;
  private position = 0;
  private last = 0;
  private slider = el("input", { type: "range", min: "0", step: "any", "aria-label": "Position in the animation", on: { input: () => this.seek(Number(this.slider.value)) } });
  private button = el("button", { type: "button", class: "wk-button", on: { click: () => this.toggle() } });
  private choice = el("select", { "aria-label": "Animation", on: { change: () => this.choose(this.choice.selectedIndex) } });
  private label = el("span", { class: "wk-moment" });

  constructor(private show: (sequence: Sequence, position: number) => void) {
    this.element.append(this.button, this.slider, this.label, this.choice);
    this.dress();
  }

  setSequences(list: Sequence[]): void {
    this.list = list;
    this.element.hidden = list.length === 0;
    replace(this.choice, ...list.map(({ name }) => el("option", {}, name)));
    this.choice.hidden = list.length < 2;
    if (list.length) this.choose(0, false);
  }

  /** Take another sequence, from its beginning. */
  choose(index: number, show = true): void {
    this.pause();
    this.chosen = index;
    this.choice.selectedIndex = index;
    const end = this.list[index].stops.length - 1;
    this.slider.max = String(end);
    this.position = show ? 0 : end;
    this.slider.value = String(this.position);
    this.name();
    if (show) this.seek(0);
  }

  /** Maps are shown at rest: one of them, or all (null). */
  settle(map: number | null): void {
    this.pause();
    const sequence = this.list[this.chosen];
    if (!sequence) return;
    const end = sequence.stops.length - 1;
    this.position = sequence.map === null && map !== null ? map : end;
    this.slider.value = String(this.position);
    this.name();
    if (sequence.map === null && map === null) this.label.textContent = "";
  }

  seek(position: number): void {
    const sequence = this.list[this.chosen];
    if (!sequence) return;
    this.position = Math.max(0, Math.min(sequence.stops.length - 1, position));
    this.slider.value = String(this.position);
    this.name();
    this.show(sequence, this.position);
  }

  toggle(): void {
    if (this.playing) this.pause();
    else this.play();
  }

  play(): void {
    const sequence = this.list[this.chosen];
    if (!sequence) return;
    if (this.position >= sequence.stops.length - 1) this.seek(0);
    this.playing = true;
    this.last = performance.now();
    this.dress();
    requestAnimationFrame((now) => this.step(now));
  }

  pause(): void {
    this.playing = false;
    this.dress();
  }

  private step(now: number): void {
    if (!this.playing) return;
    const sequence = this.list[this.chosen];
    const end = sequence.stops.length - 1;
    const seconds = sequence.map === null ? 1.6 * end : Math.min(8, 0.25 * end); // calm between maps, brisk through frames
    this.seek(this.position + (Math.min(200, now - this.last) / 1000) * (end / seconds));
    this.last = now;
    if (this.position >= end) this.pause();
    else requestAnimationFrame((next) => this.step(next));
  }

  private name(): void {
    const { stops } = this.list[this.chosen];
    this.label.textContent = stops[Math.round(this.position)].name;
  }

  private dress(): void {
    const [name, shape] = this.playing ? ["Pause", ICONS.pause] : ["Play", ICONS.play];
    this.button.title = `${name} (space)`;
    this.button.setAttribute("aria-label", name);
    this.button.replaceChildren(icon(shape));
  }
}
