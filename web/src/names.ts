// Names of regions on a map, placed so that none covers another.

import { project } from "./camera";
import type { RegionName } from "./data";
import type { Panel } from "./panel";

export const NAME_FONT = '600 13px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const LINE = 16; // pixels that a name is high
const CLOSER = 2.2; // zoom from which on names of the second level are written
const FEW = 0.01; // share of all rows below which a name stands beside its points, not over them
const WRITTEN = 0.15; // share of the map that names may take
const MARGIN = 300; // names that lie this far outside keep their place, so that none jumps when the map is moved

export interface PlacedName {
  text: string;
  x: number;
  y: number;
  width: number;
}

/**
 * The names that fit, in their order (the largest region first): where one would cover another it is moved by a line or two,
 * or left out, as are those beyond a share of the map. A closer look spreads the places and leaves room for more.
 */
export function placeNames(panel: Panel, names: RegionName[], n: number, widthOf: (text: string) => number): PlacedName[] {
  const { width, height } = panel.rect;
  const matrix = panel.matrix();
  const { scale, shift } = panel.from;
  const placed: PlacedName[] = [];
  let room = WRITTEN * (Math.min(width, height) * panel.camera.zoom) ** 2;
  for (const { text, place, rows, level } of names) {
    if (level > 1 && panel.camera.zoom < CLOSER) continue;
    const at = project(matrix, [place[0] * scale + shift[0], place[1] * scale + shift[1], place.length > 2 ? place[2] * scale + shift[2] : 0.5], width, height);
    if (!at || at[0] < -MARGIN || at[1] < -MARGIN || at[0] > width + MARGIN || at[1] > height + MARGIN) continue;
    const wide = widthOf(text);
    room -= wide * LINE;
    if (room < 0) break;
    for (const lines of rows < FEW * n ? [-1, 1, -2, 2] : [0, -1, 1, -2, 2]) {
      const [x, y] = [inside(at[0], wide / 2, width), at[1] + lines * LINE];
      if (placed.some((other) => Math.abs(other.y - y) < LINE && Math.abs(other.x - x) < (other.width + wide) / 2 + 6)) continue;
      placed.push({ text, x, y, width: wide });
      break;
    }
  }
  return placed;
}

/** A place moved so far that a name around it is not cut by the border, if the place itself is visible. */
function inside(x: number, half: number, width: number): number {
  if (x < 0 || x > width || 2 * half > width) return x;
  return Math.max(half + 3, Math.min(width - half - 3, x));
}
