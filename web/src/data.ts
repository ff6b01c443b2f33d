// The data of the page in the order of its rows: maps, columns, neighbours, pictures, frames.

import { type Numbers, Part, readPart, type Source } from "./codec";

interface ColumnMeta {
  name: string;
  kind: "number" | "category" | "text";
  array: string;
  names?: string[];
  lengths?: string;
}

interface ScoreRow {
  name: string;
  meaning: string;
  higher: boolean | null;
  values: (number | null)[];
  baseline: number | null; // that of principal components
}

/** The part of a map's box that is seen first, in units of the box. */
interface View {
  low: number[];
  side: number;
}

/** A band between torn places: both ends (x, y), both widths, in units of the map's box, and how strong it is, 0 to 1. */
export type Seam = [number, number, number, number, number, number, number];

/** A name on a map: what to write where (in units of the map's box), and at which level: 1 at once, 2 when one looks closer. */
export interface RegionName {
  text: string;
  place: number[];
  rows: number;
  level: number;
}

interface MainMeta {
  version: string;
  n: number;
  title: string;
  palette: string[];
  maps: { name: string; array: string; low: number[]; side: number; view: View; seams: Seam[]; names: RegionName[] }[];
  labels?: ColumnMeta;
  values: ColumnMeta[];
  reliability: (string | null)[];
  scores: ScoreRow[];
  parts: string[];
}

interface RowsMeta {
  ids?: ColumnMeta;
  text?: ColumnMeta;
  fields: ColumnMeta[];
}

interface FeaturesMeta {
  looked_at: number;
  columns: ColumnMeta[];
}

interface NeighborsMeta {
  neighbors?: string;
  given: Record<string, boolean>;
}

interface FramesMeta {
  frames: { map: number; array: string; iterations: number[]; shift: number[]; scale: number; steps: number }[];
}

interface ImagesMeta {
  height: number;
  width: number;
  channels: number;
}

/**
 * The ends of a colour scale: least and most, or, where a few far values would leave one colour to all others, the ends
 * of the middle 99 %.
 */
export function scaleEnds(values: Numbers): [number, number] {
  const step = Math.ceil(values.length / 100_000);
  const sample: number[] = [];
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (!Number.isFinite(v)) continue;
    if (v < low) low = v;
    if (v > high) high = v;
    if (i % step === 0) sample.push(v);
  }
  if (low > high) return [0, 1];
  sample.sort((a, b) => a - b);
  const at = (share: number) => sample[Math.round(share * (sample.length - 1))] ?? low;
  const [from, to] = [at(0.005), at(0.995)];
  return to > from && to - from < 0.6 * (high - low) ? [from, to] : [low, high];
}

export class NumberColumn {
  readonly kind = "number";
  readonly low: number; // ends of its colour scale
  readonly high: number;

  constructor(
    readonly name: string,
    readonly values: Numbers,
  ) {
    [this.low, this.high] = scaleEnds(values);
  }

  shown(row: number): string {
    return formatNumber(this.values[row]);
  }
}

export class CategoryColumn {
  readonly kind = "category";
  readonly counts: Uint32Array;

  constructor(
    readonly name: string,
    readonly codes: Numbers,
    readonly names: string[],
  ) {
    this.counts = new Uint32Array(names.length);
    for (let i = 0; i < codes.length; i++) this.counts[codes[i]]++;
  }

  shown(row: number): string {
    return this.names[this.codes[row]];
  }
}

export class TextColumn {
  readonly kind = "text";
  private starts: Float64Array;
  private decoder = new TextDecoder();

  constructor(
    readonly name: string,
    private bytes: Uint8Array,
    lengths: Numbers,
  ) {
    this.starts = new Float64Array(lengths.length + 1);
    for (let i = 0; i < lengths.length; i++) this.starts[i + 1] = this.starts[i] + lengths[i];
  }

  shown(row: number): string {
    return this.decoder.decode(this.bytes.subarray(this.starts[row], this.starts[row + 1]));
  }
}

export type Column = NumberColumn | CategoryColumn | TextColumn;

/** One map: coordinates from 0 to 65535 of its box, `stride` numbers a row (x, y or x, y, z, 0). */
export interface MapData {
  name: string;
  dimensions: 2 | 3;
  stride: 2 | 4;
  points: Uint16Array;
  low: number[];
  side: number;
  view: View;
  reliability: Uint8Array | null;
  seams: Seam[];
  names: RegionName[];
}

/** Maps on the way to `map`; a coordinate c of a frame lies at c/65535·scale + shift of the map's box. */
export interface FrameSet {
  map: number;
  iterations: number[];
  shift: number[];
  scale: number;
  frames: Uint16Array[];
}

export interface Images {
  width: number;
  height: number;
  channels: number;
  bytes: Uint8Array;
}

export function formatNumber(value: number): string {
  if (Number.isNaN(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  const size = Math.abs(value);
  return size >= 1e-4 && size < 1e6 ? String(Number(value.toPrecision(5))) : value.toExponential(3);
}

export class Data {
  readonly n: number;
  readonly title: string;
  readonly palette: string[];
  readonly maps: MapData[];
  readonly labels: CategoryColumn | null;
  readonly values: NumberColumn[];
  readonly scores: ScoreRow[];
  readonly parts: string[];
  ids: TextColumn | null = null;
  text: TextColumn | null = null;
  fields: Column[] = [];
  features: Column[] = []; // columns of the data
  featuresLeftOut = 0; // further ones that the page does not hold
  images: Images | null = null;
  frames: FrameSet[] = [];
  private order: Uint32Array;
  private neighborLists: Int32Array | null = null;
  private listLength = 0;
  private given = new Map<string, { rows: Int32Array; starts: Uint32Array }>();

  private constructor(main: Part<MainMeta>) {
    const meta = main.meta;
    this.n = meta.n;
    this.title = meta.title;
    this.palette = meta.palette;
    this.order = main.array("order") as Uint32Array;
    this.labels = meta.labels ? (this.column(main, meta.labels) as CategoryColumn) : null;
    this.values = meta.values.map((v) => this.column(main, v) as NumberColumn);
    this.scores = meta.scores;
    this.parts = meta.parts;
    this.maps = meta.maps.map((map, index) => {
      const dimensions = main.shape(map.array)[0] as 2 | 3;
      const stride = dimensions === 2 ? 2 : 4;
      const reliability = meta.reliability[index];
      return {
        name: map.name,
        dimensions,
        stride,
        points: this.interleaved(main.array(map.array) as Uint16Array, 0, dimensions, stride),
        low: map.low,
        side: map.side,
        view: map.view,
        seams: map.seams,
        names: map.names,
        reliability: reliability === null ? null : (this.byRow(main.array(reliability)) as Uint8Array),
      };
    });
  }

  static async open(source: Source): Promise<Data> {
    return new Data(await readPart<MainMeta>(await source.load("main")));
  }

  /** Fetch one of the further parts. */
  async add(name: string, source: Source): Promise<void> {
    const packed = await source.load(name);
    if (name === "rows") this.addRows(await readPart<RowsMeta>(packed));
    else if (name === "features") this.addFeatures(await readPart<FeaturesMeta>(packed));
    else if (name === "neighbors") this.addNeighbors(await readPart<NeighborsMeta>(packed));
    else if (name === "frames") this.addFrames(await readPart<FramesMeta>(packed));
    else if (name === "images") {
      const part = await readPart<ImagesMeta>(packed);
      this.images = { ...part.meta, bytes: part.array("images") as Uint8Array };
    }
  }

  idOf(row: number): string {
    return this.ids ? this.ids.shown(row) : String(row);
  }

  get hasNeighbors(): boolean {
    return this.neighborLists !== null;
  }

  /** True neighbours of a row, nearest first. */
  neighbors(row: number): number[] {
    if (!this.neighborLists) return [];
    const from = row * this.listLength;
    return Array.from(this.neighborLists.subarray(from, from + this.listLength)).filter((other) => other >= 0);
  }

  /** False or missing neighbours of a row as measured beforehand, or null. */
  givenNeighbors(kind: "false" | "missing", map: number, row: number): number[] | null {
    const lists = this.given.get(`${kind}${map}`);
    return lists ? Array.from(lists.rows.subarray(lists.starts[row], lists.starts[row + 1])) : null;
  }

  private addRows(part: Part<RowsMeta>): void {
    const { ids, text, fields } = part.meta;
    this.ids = ids ? (this.column(part, ids) as TextColumn) : null;
    this.text = text ? (this.column(part, text) as TextColumn) : null;
    this.fields = fields.map((field) => this.column(part, field));
  }

  private addFeatures(part: Part<FeaturesMeta>): void {
    const known = new Set([...this.values, ...this.fields].map((column) => column.name));
    this.features = part.meta.columns.filter(({ name }) => !known.has(name)).map((column) => this.column(part, column));
    this.featuresLeftOut = part.meta.looked_at - part.meta.columns.length;
  }

  private addNeighbors(part: Part<NeighborsMeta>): void {
    const name = part.meta.neighbors;
    if (name) {
      const k = (this.listLength = part.shape(name)[1]);
      const stored = part.array(name);
      const lists = new Int32Array(this.n * k);
      for (let j = 0; j < this.n; j++) {
        const to = this.order[j] * k;
        for (let i = 0; i < k; i++) {
          const folded = stored[j * k + i];
          lists[to + i] = folded === 0 ? -1 : this.order[j + unzigzag(folded)];
        }
      }
      this.neighborLists = lists;
    }
    for (const map of Object.keys(part.meta.given)) {
      for (const kind of ["false", "missing"]) this.given.set(kind + map, this.listsOf(part, kind + map));
    }
  }

  private listsOf(part: Part<NeighborsMeta>, name: string): { rows: Int32Array; starts: Uint32Array } {
    const lengths = this.byRow(part.array(`${name}.lengths`)) as Uint32Array;
    const starts = new Uint32Array(this.n + 1);
    for (let i = 0; i < this.n; i++) starts[i + 1] = starts[i] + lengths[i];
    const stored = part.array(name);
    const rows = new Int32Array(stored.length);
    for (let j = 0, at = 0; j < this.n; j++) {
      const row = this.order[j];
      for (let to = starts[row]; to < starts[row + 1]; to++) rows[to] = this.order[j + unzigzag(stored[at++])];
    }
    return { rows, starts };
  }

  private addFrames(part: Part<FramesMeta>): void {
    this.frames = part.meta.frames.map(({ map, array, iterations, shift, scale, steps }) => {
      const all = part.array(array) as Uint16Array;
      const { dimensions, stride } = this.maps[map];
      const size = this.n * dimensions;
      const frames = iterations.map((_, f) => this.interleaved(all, f * size, dimensions, stride));
      return { map, iterations, shift, scale: (scale * 65535) / steps, frames };
    });
  }

  private column(part: Part<unknown>, meta: ColumnMeta): Column {
    if (meta.kind === "text") {
      return new TextColumn(meta.name, part.array(meta.array) as Uint8Array, part.array(meta.lengths!));
    }
    const values = this.byRow(part.array(meta.array));
    return meta.kind === "number"
      ? new NumberColumn(meta.name, values)
      : new CategoryColumn(meta.name, values, meta.names!);
  }

  /** An array in the order of storage as one in the order of the rows. */
  private byRow(stored: Numbers): Numbers {
    const rows = stored.slice();
    for (let j = 0; j < this.n; j++) rows[this.order[j]] = stored[j];
    return rows;
  }

  private interleaved(stored: Uint16Array, from: number, dimensions: number, stride: number): Uint16Array {
    const points = new Uint16Array(this.n * stride);
    for (let d = 0; d < dimensions; d++) {
      const at = from + d * this.n;
      for (let j = 0; j < this.n; j++) points[this.order[j] * stride + d] = stored[at + j];
    }
    return points;
  }
}

function unzigzag(folded: number): number {
  return folded % 2 ? -(folded + 1) / 2 : folded / 2;
}
