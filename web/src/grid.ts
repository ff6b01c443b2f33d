// Finding points near a place: a grid of cells for 2-D maps, all points for 3-D ones.

const FULL = 65536;

export class Grid {
  private cells: number;
  private starts: Uint32Array;
  private rows: Uint32Array;

  constructor(
    private points: Uint16Array,
    n: number,
  ) {
    this.cells = Math.max(1, Math.min(1024, Math.round(Math.sqrt(n / 2))));
    const count = this.cells * this.cells;
    const starts = new Uint32Array(count + 1);
    for (let i = 0; i < n; i++) starts[this.cellOf(i) + 1]++;
    for (let c = 0; c < count; c++) starts[c + 1] += starts[c];
    const next = starts.slice(0, count);
    this.rows = new Uint32Array(n);
    for (let i = 0; i < n; i++) this.rows[next[this.cellOf(i)]++] = i;
    this.starts = starts;
  }

  /** The row nearest to a place (in steps of the map) among those within `radius` that pass, or −1. */
  nearest(x: number, y: number, radius: number, passes: (row: number) => boolean): number {
    const [c0, c1] = [this.column(x - radius), this.column(x + radius)];
    const [r0, r1] = [this.column(y - radius), this.column(y + radius)];
    let best = -1;
    let least = radius * radius;
    for (let r = r0; r <= r1; r++) {
      const to = this.starts[r * this.cells + c1 + 1];
      for (let at = this.starts[r * this.cells + c0]; at < to; at++) {
        const row = this.rows[at];
        const dx = this.points[2 * row] - x;
        const dy = this.points[2 * row + 1] - y;
        const d = dx * dx + dy * dy;
        if (d <= least && passes(row)) {
          least = d;
          best = row;
        }
      }
    }
    return best;
  }

  /** The k rows nearest to a row, nearest first, itself left out. */
  neighbors(row: number, k: number): number[] {
    const [x, y] = [this.points[2 * row], this.points[2 * row + 1]];
    const [column, line] = [this.column(x), this.column(y)];
    const near = new Nearest(k);
    for (let ring = 0; ring <= this.cells; ring++) {
      // A point outside the rings seen so far is at least this far away.
      if (near.full && near.farthest <= (((ring - 1) * FULL) / this.cells) ** 2) break;
      this.ring(column, line, ring, (other) => {
        const dx = this.points[2 * other] - x;
        const dy = this.points[2 * other + 1] - y;
        if (other !== row) near.offer(other, dx * dx + dy * dy);
      });
    }
    return near.rows;
  }

  private ring(column: number, line: number, ring: number, visit: (row: number) => void): void {
    for (let r = Math.max(0, line - ring); r <= Math.min(this.cells - 1, line + ring); r++) {
      const edge = Math.abs(r - line) === ring;
      const step = edge || ring === 0 ? 1 : 2 * ring;
      for (let c = column - ring; c <= column + ring; c += step) {
        if (c < 0 || c >= this.cells) continue;
        const cell = r * this.cells + c;
        for (let at = this.starts[cell]; at < this.starts[cell + 1]; at++) visit(this.rows[at]);
      }
    }
  }

  private column(x: number): number {
    return Math.max(0, Math.min(this.cells - 1, Math.floor((x * this.cells) / FULL)));
  }

  private cellOf(row: number): number {
    return this.column(this.points[2 * row + 1]) * this.cells + this.column(this.points[2 * row]);
  }
}

/** The k nearest rows offered so far; of equal ones the first offered. */
class Nearest {
  rows: number[] = [];
  private distances: number[] = [];

  constructor(private k: number) {}

  get full(): boolean {
    return this.rows.length === this.k;
  }

  get farthest(): number {
    return this.distances[this.distances.length - 1] ?? Infinity;
  }

  offer(row: number, distance: number): void {
    if (this.full && distance >= this.farthest) return;
    let at = this.rows.length;
    while (at > 0 && this.distances[at - 1] > distance) at--;
    this.rows.splice(at, 0, row);
    this.distances.splice(at, 0, distance);
    if (this.rows.length > this.k) {
      this.rows.pop();
      this.distances.pop();
    }
  }
}

/** The k rows nearest to a row among all points of any dimension. */
export function nearestOfAll(points: Uint16Array, stride: number, row: number, k: number): number[] {
  const near = new Nearest(k);
  const from = row * stride;
  for (let other = 0, at = 0; at < points.length; other++, at += stride) {
    let distance = 0;
    for (let d = 0; d < stride; d++) distance += (points[at + d] - points[from + d]) ** 2;
    if (other !== row) near.offer(other, distance);
  }
  return near.rows;
}
