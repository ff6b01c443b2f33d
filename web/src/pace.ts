// How many points one picture may have, so that a map follows the pointer on any machine.

const FIRST = 150_000; // points that are drawn at once before anything is known of the machine
const FEWEST = 30_000;
const SLOW = 45; // milliseconds between pictures, beyond which fewer points are drawn
const FAST = 24;
const MOST_SHARES = 30; // the widest step between rows that WebGL can read is 255 bytes

export class Pace {
  private points = FIRST;
  private last = -Infinity;

  /** In how many shares a picture of `count` points is drawn; asked at each picture, whose distance in time it learns from. */
  shares(count: number, now: number): number {
    const gap = now - this.last;
    this.last = now;
    if (gap < 1000) {
      if (gap > SLOW) this.points = Math.max(FEWEST, this.points * Math.max(0.5, SLOW / gap));
      else if (gap < FAST && count > this.points) this.points *= 1.4;
    }
    return Math.max(1, Math.min(MOST_SHARES, Math.ceil(count / this.points)));
  }

  /** A picture that is no step of a movement: nothing is learnt from what follows it. */
  rest(_now: number): void {
    this.last = -Infinity;
  }
}
