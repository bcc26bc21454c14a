/**
 * What a block of messages looks like: when within the block each comes, how long it takes to its receipt, and from which template
 * it is. There are a few hundred layouts, and each block has one of them by its number, so that what is true of a layout is
 * found once and holds for millions of blocks.
 *
 * Invariant: which layout a block has, and what is in it, depends on the settings and its number alone. Layouts are made when
 * they are first asked for, and kept.
 */
import { seededRandom } from '../../../base/random.ts';
import { drawFor } from '../../chance.ts';
import type { Effort } from '../effort.ts';
import { mixed } from '../message-ids.ts';
import type { MadeUpSettings } from './made-up-settings.ts';
import type { Templates } from './templates.ts';

export interface Layout {
  /** Where in the block each message is, as a part of the block from its newest end, ascending, from 0 to below 1. */
  readonly ages: Float64Array;
  /** From each message's own time to its receipt, ms. */
  readonly delaysMs: Uint32Array;
  /** The template of each. */
  readonly templates: Uint16Array;
  /** Those that are received later than prompt ones, ascending. */
  readonly late: Uint16Array;
  /** Of `_raw` of all of them. */
  readonly rawBytes: number;
}

/** Of making an entry of a layout. */
const unitsPerEntry = 0.3;

/** A power of two. */
export const layoutCount = 256;

export class Layouts {
  /** Messages in each layout, 65,535 at most. */
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

  /** The number of a block's layout. */
  numberOf(block: number): number {
    return mixed(block | 0, this.#key ^ (block / 4_294_967_296)) & (layoutCount - 1);
  }

  /** Makes those that are still to be made, as far as the effort reaches; whether all are there. */
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
      const [leastMs, mostMs] = isLate ? [receipt.promptMs + 1, receipt.lateMs] : [0, receipt.promptMs];
      // Squared, since most are nearer to the lower end.
      delaysMs[entry] = leastMs + Math.floor(random.next() ** 2 * (mostMs - leastMs + 1));
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
