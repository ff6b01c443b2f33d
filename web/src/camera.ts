// Where one looks at a map from. Maps live in the unit square or cube; screens are in CSS pixels, y downwards.

const MARGIN = 0.9; // share of the panel that the whole map takes
const LENS = 2.5; // distance of the camera from the middle of a 3-D map at zoom 1
const ZOOM = [0.0005, 5000] as const;
const ZOOM_3D = [0.005, 60] as const;

export type Point = readonly [number, number, number];

export class Camera {
  x = 0.5;
  y = 0.5;
  z = 0.5;
  zoom = 1;
  yaw = -0.6;
  pitch = 0.45;

  constructor(readonly dimensions: 2 | 3) {}

  reset(): void {
    Object.assign(this, new Camera(this.dimensions));
  }

  get atHome(): boolean {
    const { x, y, z, zoom } = this;
    return x === 0.5 && y === 0.5 && z === 0.5 && zoom === 1;
  }

  copy(other: Camera): void {
    const { x, y, z, zoom, yaw, pitch } = other;
    Object.assign(this, { x, y, z, zoom, yaw, pitch });
  }

  /** Pixels a unit of the map takes at the middle of the panel. */
  scale(width: number, height: number): number {
    return Math.min(width, height) * MARGIN * this.zoom * (this.dimensions === 3 ? 0.85 : 1);
  }

  /** Distance of the camera from what it looks at (3-D). */
  get distance(): number {
    return LENS / this.zoom;
  }

  /** Column-major matrix from the map to clip space. */
  matrix(width: number, height: number): Float32Array {
    const s = this.scale(width, height);
    const sx = (2 * s) / width;
    const sy = (2 * s) / height;
    if (this.dimensions === 2) {
      return new Float32Array([sx, 0, 0, 0, 0, sy, 0, 0, 0, 0, 0, 0, -sx * this.x, -sy * this.y, 0, 1]);
    }
    const [right, up, back] = this.axes();
    const D = this.distance;
    const near = D * 0.05;
    const far = D + 3;
    const a = -(far + near) / (far - near);
    const b = (-2 * far * near) / (far - near);
    const m = new Float32Array(16);
    const at: Point = [this.x, this.y, this.z];
    const dot = (axis: Point) => axis[0] * at[0] + axis[1] * at[1] + axis[2] * at[2];
    for (let c = 0; c < 3; c++) {
      m[4 * c] = sx * D * right[c];
      m[4 * c + 1] = sy * D * up[c];
      m[4 * c + 2] = a * back[c];
      m[4 * c + 3] = -back[c];
    }
    m[12] = -sx * D * dot(right);
    m[13] = -sy * D * dot(up);
    m[14] = a * (-dot(back) - D) + b;
    m[15] = dot(back) + D;
    return m;
  }

  private axes(): [Point, Point, Point] {
    const [cy, sy, cp, sp] = [Math.cos(this.yaw), Math.sin(this.yaw), Math.cos(this.pitch), Math.sin(this.pitch)];
    return [
      [cy, 0, -sy],
      [sy * sp, cp, cy * sp],
      [sy * cp, -sp, cy * cp],
    ];
  }

  /** Move the map by pixels. */
  pan(dx: number, dy: number, width: number, height: number): void {
    const s = this.scale(width, height);
    if (this.dimensions === 2) {
      this.x -= dx / s;
      this.y += dy / s;
      return;
    }
    const [right, up] = this.axes();
    this.x += (-dx * right[0] + dy * up[0]) / s;
    this.y += (-dx * right[1] + dy * up[1]) / s;
    this.z += (-dx * right[2] + dy * up[2]) / s;
  }

  /** Turn a 3-D map as if the pointer held it. */
  orbit(dx: number, dy: number): void {
    this.yaw -= dx * 0.008;
    this.pitch = Math.max(-1.55, Math.min(1.55, this.pitch + dy * 0.008));
  }

  /** Zoom by a factor; what is under (px, py) stays there (2-D). */
  zoomAt(factor: number, px: number, py: number, width: number, height: number): void {
    const [low, high] = this.dimensions === 2 ? ZOOM : ZOOM_3D;
    const zoom = Math.max(low, Math.min(high, this.zoom * factor));
    if (this.dimensions === 2) {
      const [x, y] = this.unproject(px, py, width, height);
      this.zoom = zoom;
      const s = this.scale(width, height);
      this.x = x - (px - width / 2) / s;
      this.y = y + (py - height / 2) / s;
    }
    this.zoom = zoom;
  }

  /** The place of a 2-D map under a pixel. */
  unproject(px: number, py: number, width: number, height: number): [number, number] {
    const s = this.scale(width, height);
    return [this.x + (px - width / 2) / s, this.y - (py - height / 2) / s];
  }
}

/** Pixel of a place of the map, with its distance from the camera, or null behind it. */
export function project(m: Float32Array, p: Point, width: number, height: number): [number, number, number] | null {
  const w = m[3] * p[0] + m[7] * p[1] + m[11] * p[2] + m[15];
  if (w <= 0) return null;
  const x = (m[0] * p[0] + m[4] * p[1] + m[8] * p[2] + m[12]) / w;
  const y = (m[1] * p[0] + m[5] * p[1] + m[9] * p[2] + m[13]) / w;
  return [((x + 1) / 2) * width, ((1 - y) / 2) * height, w];
}
