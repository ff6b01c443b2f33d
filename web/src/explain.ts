// By which columns a selection differs most from all other rows: the numbers of winkel.explain.

import type { CategoryColumn, Column, NumberColumn, TextColumn } from "./data";

export interface Difference {
  name: string;
  effect: number; // mean of the selection less that of all others, in standard deviations of the whole column
  inside: number;
  outside: number;
  p: number; // by Welch's test, corrected for the number of columns looked at (Holm)
  column: Column | null; // what to colour by
}

interface Moments {
  count: [number, number];
  mean: [number, number];
  variance: [number, number];
}

const MOST_CLASSES = 50; // of a column whose values are looked at one by one
const WORD = /\p{L}[\p{L}\p{N}_'’-]{2,}/gu;
const MOST_WORDS = 3000;
const FEWEST_TEXTS = 3;
const MOST_TEXTS = 200_000;

/**
 * All columns, the largest effect first. Numbers are taken as they are, each value of a column of classes as 1 or 0. `others` says
 * how many further columns of the data were looked at before these were chosen.
 */
export function explain(columns: Column[], selected: Uint8Array, others = 0): Difference[] {
  const found: (Difference & { raw: number })[] = [];
  const take = (name: string, column: Column, moments: Moments) => found.push({ name, column, ...difference(moments) });
  for (const column of columns) {
    if (column.kind === "number") take(column.name, column, numberMoments(column, selected));
    else if (column.kind === "category" && column.names.length <= MOST_CLASSES) {
      shares(column, selected).forEach((moments, code) => take(`${column.name} = ${column.names[code]}`, column, moments));
    }
  }
  return corrected(found, others);
}

/** Words of the texts, each as 1 where a text holds it and 0 elsewhere. */
export class Words {
  private words: string[] = [];
  private texts: Uint32Array; // one after the other the texts of each word
  private starts: Uint32Array;

  constructor(
    private n: number,
    column: TextColumn,
  ) {
    const held = new Map<string, number[]>();
    for (let row = 0; row < n; row++) {
      for (const word of new Set(column.shown(row).toLowerCase().match(WORD) ?? [])) {
        const rows = held.get(word);
        if (rows) rows.push(row);
        else held.set(word, [row]);
      }
    }
    const most = Math.max(FEWEST_TEXTS, n / 2);
    const kept = [...held].filter(([, rows]) => rows.length >= FEWEST_TEXTS && rows.length <= most);
    kept.sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1));
    kept.length = Math.min(kept.length, MOST_WORDS);
    this.words = kept.map(([word]) => word);
    this.starts = new Uint32Array(kept.length + 1);
    kept.forEach(([, rows], w) => (this.starts[w + 1] = this.starts[w] + rows.length));
    this.texts = new Uint32Array(this.starts[kept.length]);
    kept.forEach(([, rows], w) => this.texts.set(rows, this.starts[w]));
  }

  static of(n: number, column: TextColumn | null): Words | null {
    return column && n <= MOST_TEXTS ? new Words(n, column) : null;
  }

  explain(selected: Uint8Array): Difference[] {
    let chosen = 0;
    for (let i = 0; i < this.n; i++) chosen += selected[i];
    const found = this.words.map((word, w) => {
      let inside = 0;
      for (let at = this.starts[w]; at < this.starts[w + 1]; at++) inside += selected[this.texts[at]];
      const moments = shareMoments(inside, this.starts[w + 1] - this.starts[w] - inside, chosen, this.n - chosen);
      return { name: `“${word}”`, column: null, ...difference(moments) };
    });
    return corrected(found, 0);
  }
}

/** P-values times the number of those that are not smaller, none below the one before; the largest effect first. */
function corrected(found: (Difference & { raw: number })[], others: number): Difference[] {
  const order = [...found].sort((a, b) => a.raw - b.raw);
  let before = 0;
  order.forEach((one, rank) => (one.p = before = Math.min(1, Math.max(before, one.raw * (found.length + others - rank)))));
  return found.sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect)).map(({ raw: _, ...rest }) => rest);
}

function difference({ count, mean, variance }: Moments): Omit<Difference & { raw: number }, "name" | "column"> {
  const [inside, outside] = mean;
  const n = count[0] + count[1];
  const gap = inside - outside;
  if (!count[0] || !count[1]) return { effect: 0, inside, outside, p: 1, raw: 1 };
  const within = (count[0] * variance[0] + count[1] * variance[1]) / n;
  const whole = Math.sqrt(within + ((count[0] * count[1]) / n ** 2) * gap ** 2);
  const raw = welch(gap, variance, count);
  return { effect: whole > 0 ? gap / whole : 0, inside, outside, p: raw, raw };
}

function welch(gap: number, variance: [number, number], count: [number, number]): number {
  const less = count.map((c) => Math.max(c - 1, 1));
  const [a, b] = [variance[0] / less[0], variance[1] / less[1]]; // variances of the two means
  const error = a + b;
  if (!(error > 0)) return gap === 0 ? 1 : 0;
  const freedom = Math.max(1, error ** 2 / (a ** 2 / less[0] + b ** 2 / less[1]));
  return studentTails(gap / Math.sqrt(error), freedom);
}

function numberMoments({ values }: NumberColumn, selected: Uint8Array): Moments {
  const count: [number, number] = [0, 0];
  const mean: [number, number] = [0, 0];
  const variance: [number, number] = [0, 0];
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (v - v !== 0) continue; // neither a gap nor infinite
    const side = selected[i] ? 0 : 1;
    count[side]++;
    mean[side] += v;
  }
  for (const side of [0, 1]) mean[side] /= count[side] || 1;
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (v - v !== 0) continue;
    const side = selected[i] ? 0 : 1;
    variance[side] += (v - mean[side]) ** 2;
  }
  for (const side of [0, 1]) variance[side] /= count[side] || 1;
  return { count, mean, variance };
}

function shares({ codes, counts }: CategoryColumn, selected: Uint8Array): Moments[] {
  const inside = new Float64Array(counts.length);
  let chosen = 0;
  for (let i = 0; i < codes.length; i++) {
    if (!selected[i]) continue;
    inside[codes[i]]++;
    chosen++;
  }
  return Array.from(counts, (all, code) => shareMoments(inside[code], all - inside[code], chosen, codes.length - chosen));
}

function shareMoments(inside: number, outside: number, chosen: number, rest: number): Moments {
  const mean: [number, number] = [inside / (chosen || 1), outside / (rest || 1)];
  return { count: [chosen, rest], mean, variance: [mean[0] * (1 - mean[0]), mean[1] * (1 - mean[1])] };
}

/** How often Student's t of so many degrees of freedom is beyond ±t. */
export function studentTails(t: number, freedom: number): number {
  return incompleteBeta(freedom / (freedom + t * t), t * t / (freedom + t * t), freedom / 2, 0.5);
}

/** The regularised incomplete beta function of x = 1 − y, by its continued fraction (Lentz). */
function incompleteBeta(x: number, y: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(y));
  return x < (a + 1) / (a + b + 2) ? (front * fraction(x, a, b)) / a : 1 - (front * fraction(y, b, a)) / b;
}

function fraction(x: number, a: number, b: number): number {
  const tiny = 1e-300;
  const safe = (v: number) => (Math.abs(v) < tiny ? tiny : v);
  let c = 1;
  let d = 1 / safe(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m <= 500; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / safe(1 + even * d);
    c = safe(1 + even / c);
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / safe(1 + odd * d);
    c = safe(1 + odd / c);
    result *= d * c;
    if (Math.abs(d * c - 1) < 1e-13) break;
  }
  return result;
}

/** Stirling's series, shifted to where it is exact. */
function logGamma(x: number): number {
  let shift = 0;
  while (x < 12) shift += Math.log(x++);
  const r = 1 / (x * x);
  const series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series - shift;
}
