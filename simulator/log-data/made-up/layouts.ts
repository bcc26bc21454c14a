/**
 * Layouts of generated messages. A *block* is a group of consecutive messages. Its *layout* says when each message was sent and
 * received, and which text it has. There are only 256 layouts for millions of blocks, so the matches in a layout are counted
 * only once.
 *
 * Invariant: the layout of a block depends only on the settings and the number of the block.
 */
import { seededRandom } from '../../../src/base/random.ts';
import { drawFor } from '../../chance.ts';
import type { Effort } from '../effort.ts';
import { mixed } from '../message-ids.ts';
import type { MadeUpSettings } from './made-up-settings.ts';
import type { Templates } from './templates.ts';

export interface Layout {
  /** Age of each message within its block, from 0 (newest) to 1 (oldest), ascending. */
  readonly ages: Float64Array;
  /** Delay between message time and receipt time of each message, in ms. */
  readonly delaysMs: Uint32Array;
  /** Index of each message's text pattern (template). */
  readonly templates: Uint16Array;
  /** Indices of the messages with a long delay of their receipt (up to `lateMs`), ascending. */
  readonly late: Uint16Array;
  readonly rawBytes: number;
}

/** Estimated computing time, in microseconds, for drawing the time and text of one message. */
const unitsPerEntry = 0.3;

/** Number of different layouts (times and texts of a block of messages). It must be a power of two. */
export const layoutCount = 256;

export class Layouts {
  readonly rows: number;
  readonly #settings: MadeUpSettings;
  readonly #templates: Templates;
  readonly #layouts: (Layout | undefined)[] = new Array(layoutCount).fill(undefined);
  readonly #key: number;

  constructor(settings: MadeUpSettings, rows: number, templates: Templates) {
    this.rows = rows;
    this.#settings = settings;
    this.#templates = templates;
    this.#key = mixed(settings.seed | 0, 0x3c6ef372);
  }

  numberOf(block: number): number {
    return mixed(block | 0, this.#key ^ (block / 4_294_967_296)) & (layoutCount - 1);
  }

  /** Creates missing layouts of blocks until the computing time is used up. Returns whether all layouts exist. */
  prepare(effort: Effort): boolean {
    for (let number = 0; number < layoutCount; number++) {
      if (this.#layouts[number]) continue;
      if (effort.isSpent) return false;
      this.layout(number);
      effort.spend(this.rows * unitsPerEntry);
    }
    return true;
  }

  layout(number: number): Layout {
    const known = this.#layouts[number];
    if (known) return known;
    const made = this.#made(number);
    this.#layouts[number] = made;
    return made;
  }

  #made(number: number): Layout {
    const { seed, receipt, size } = this.#settings;
    const random = seededRandom(drawFor(seed, 'layout', number) * 4_294_967_296);
    const ages = this.#ages(random);
    const delaysMs = new Uint32Array(this.rows);
    const templates = new Uint16Array(this.rows);
    const late: number[] = [];
    let rawBytes = 0;
    for (let entry = 0; entry < this.rows; entry++) {
      const isLate = random.next() < receipt.lateShare && receipt.lateMs > receipt.promptMs;
      const [minMs, maxMs] = isLate ? [receipt.promptMs + 1, receipt.lateMs] : [0, receipt.promptMs];
      // The random number is squared, because most messages arrive with a short delay.
      delaysMs[entry] = minMs + Math.floor(random.next() ** 2 * (maxMs - minMs + 1));
      if (isLate) late.push(entry);
      const isLarge = random.next() < size.largeShare;
      const template = this.#templates.drawn(isLarge, random.next());
      templates[entry] = template;
      rawBytes += this.#templates.at(template).rawBytes;
    }
    return { ages, delaysMs, templates, late: Uint16Array.from(late), rawBytes };
  }

  #ages(random: { next(): number }): Float64Array {
    const { rows } = this;
    const ages = Float64Array.from({ length: rows }, () => random.next()).sort();
    const { share, count } = this.#settings.crowds;
    const crowdRows = Math.min(count, rows);
    for (let first = 0; first + crowdRows <= rows; first += crowdRows) {
      if (random.next() < share) ages.fill(ages[first] as number, first, first + crowdRows);
    }
    return ages;
  }
}
