/**
 * Layouts of generated messages. Messages are generated in blocks of at most 2,048 messages. A layout determines the
 * times and texts of the messages in a block. There are only 256 layouts, and many blocks have the same layout. A
 * search therefore counts the matches in full blocks once per layout, not once per block.
 */
import { seededRandom } from '../../../src/base/random.ts';
import { drawFor } from '../../base/chance.ts';
import type { Effort } from '../effort.ts';
import { mixed } from '../message-ids.ts';
import type { MadeUpSettings } from './made-up-settings.ts';
import type { Templates } from './templates.ts';

export interface Layout {
  /** Relative age of each message in the block, in ascending order: 0 for the newest message, 1 for the oldest. */
  readonly ages: Float64Array;
  /** Delay of each message from its message time to its receipt time, in ms. */
  readonly delaysMs: Uint32Array;
  /** Index of each message's template. */
  readonly templates: Uint16Array;
  /** Indices of the messages in the block that are received late, in ascending order. */
  readonly late: Uint16Array;
  readonly rawBytes: number;
}

/** Estimated time to choose the time and text of one message, in microseconds. */
const unitsPerEntry = 0.3;

/** Number of layouts. It must be a power of two, because `numberOf` uses `layoutCount - 1` as a bit mask. */
export const layoutCount = 256;

export class Layouts {
  readonly rows: number;
  readonly #settings: MadeUpSettings;
  readonly #templates: Templates;
  readonly #layouts: (Layout | undefined)[] = new Array(layoutCount).fill(undefined);
  readonly #key: number;
  /** Index of the first message block whose layout has not yet been created. */
  #prepared = 0;
  #made = 0;

  constructor(settings: MadeUpSettings, rows: number, templates: Templates) {
    this.rows = rows;
    this.#settings = settings;
    this.#templates = templates;
    this.#key = mixed(settings.seed | 0, 0x3c6ef372);
  }

  numberOf(block: number): number {
    return mixed(block | 0, this.#key ^ (block / 4_294_967_296)) & (layoutCount - 1);
  }

  /** Creates the layouts of the first `blocks` message blocks. Returns false if the computing time runs out first. */
  prepare(blocks: number, effort: Effort): boolean {
    for (; this.#prepared < blocks && this.#made < layoutCount; this.#prepared++) {
      const number = this.numberOf(this.#prepared);
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
    const made = this.#make(number);
    this.#layouts[number] = made;
    this.#made++;
    return made;
  }

  #make(number: number): Layout {
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
      // Squaring the random number makes short delays more common than long delays.
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
    const ages = new Float64Array(rows);
    for (let entry = 0; entry < rows; entry++) ages[entry] = random.next();
    ages.sort();
    const { share, count } = this.#settings.crowds;
    const crowdRows = Math.min(count, rows);
    for (let first = 0; first + crowdRows <= rows; first += crowdRows) {
      if (random.next() < share) ages.fill(ages[first] as number, first, first + crowdRows);
    }
    return ages;
  }
}
