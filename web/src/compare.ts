// Neighbours in the data against neighbours in a map.

import type { Data } from "./data";
import { nearestOfAll } from "./grid";
import type { Grids } from "./panel";

export interface Comparison {
  truth: number[]; // true neighbours, nearest first
  kept: number[]; // true ones that are near in the map
  missing: number[]; // true ones that the map moved away
  wrong: number[]; // near in the map, not in the data
}

export function compareNeighbors(data: Data, grids: Grids, map: number, row: number): Comparison | null {
  const truth = data.neighbors(row);
  const missing = data.givenNeighbors("missing", map, row);
  const wrong = data.givenNeighbors("false", map, row);
  if (missing && wrong) {
    const torn = new Set(missing);
    return { truth, missing, wrong, kept: truth.filter((other) => !torn.has(other)) };
  }
  if (truth.length === 0) return null;
  const { points, stride } = data.maps[map];
  const near = grids.of(map)?.neighbors(row, truth.length) ?? nearestOfAll(points, stride, row, truth.length);
  const [inMap, inData] = [new Set(near), new Set(truth)];
  return {
    truth,
    kept: truth.filter((other) => inMap.has(other)),
    missing: truth.filter((other) => !inMap.has(other)),
    wrong: near.filter((other) => !inData.has(other)),
  };
}
