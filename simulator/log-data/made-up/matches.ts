/** Counts the generated messages that match a filter. The filter is called only once per message template. */
import type { MessageFilter } from '../../query/row.ts';
import { Effort, unitsPerMessage } from '../effort.ts';
import { layoutCount } from './layouts.ts';
import type { MadeUpRows } from './made-up-rows.ts';
import type { MatchTally } from './match-tally.ts';
import { varyingFields } from './templates.ts';

/**
 * Reports whether all messages of a template have the same values in the fields that `reads` lists. The names are in
 * lower case.
 */
export function dependsOnTemplateOnly(reads: ReadonlySet<string>): boolean {
  return [...varyingFields].every((name) => !reads.has(name));
}

export class TemplateMatches {
  readonly #rows: MadeUpRows;
  readonly #filter: MessageFilter;
  /** Result of the filter for each message template: 1 if its messages match, otherwise 0. */
  readonly #templates: Uint8Array;
  /** Number of message templates to which the filter has been applied. */
  #asked = 0;
  /**
   * For each layout: number of matches in a full message block with this layout, or -1 if they have not been counted
   * yet.
   */
  readonly #inLayout = new Int32Array(layoutCount).fill(-1);

  constructor(rows: MadeUpRows, filter: MessageFilter) {
    this.#rows = rows;
    this.#filter = filter;
    this.#templates = new Uint8Array(rows.templates.count);
  }

  /** Creates an instance for a search without a filter, which all messages match. */
  static all(rows: MadeUpRows): TemplateMatches {
    const all = new TemplateMatches(rows, { reads: new Set(), cost: 0, matches: () => true });
    all.prepare(new Effort());
    return all;
  }

  /** Applies the filter to each message template. Returns false if the computing time runs out first. */
  prepare(effort: Effort): boolean {
    const { templates, layouts, timeline } = this.#rows;
    for (; this.#asked < templates.count && !effort.isSpent; this.#asked++) {
      effort.spend(unitsPerMessage(this.#filter, templates.at(this.#asked).rawBytes));
      this.#templates[this.#asked] = this.#filter.matches(this.#rows.templateRow(this.#asked)) ? 1 : 0;
    }
    return this.#asked === templates.count && layouts.prepare(timeline.blocks, effort);
  }

  has(rank: number): boolean {
    return this.#templates[this.#rows.templateOf(rank)] === 1;
  }

  /** Returns the number of matches with ranks in [from, to). The rank of a message is the number of newer messages. */
  count(from: number, to: number): number {
    const { layouts, timeline } = this.#rows;
    let count = 0;
    for (const { block, blocks, first, end } of timeline.stretches(from, to)) {
      if (blocks === 0) count += this.#countIn(layouts.numberOf(block), first, end);
      for (let next = block; next < block + blocks; next++) count += this.#whole(layouts.numberOf(next));
    }
    return count;
  }

  /**
   * Returns the rank (number of newer messages) of match `index` among the messages with ranks in [from, to). The match
   * must exist.
   */
  find(from: number, to: number, index: number): number {
    const { layouts, timeline } = this.#rows;
    let left = index;
    for (const { rank, block, blocks, first, end } of timeline.stretches(from, to)) {
      if (blocks === 0) {
        const count = this.#countIn(layouts.numberOf(block), first, end);
        if (left < count) return rank + this.#entry(layouts.numberOf(block), first, left) - first;
        left -= count;
      }
      for (let passed = 0; passed < blocks; passed++) {
        const layout = layouts.numberOf(block + passed);
        const count = this.#whole(layout);
        if (left < count) return rank + passed * layouts.rows + this.#entry(layout, 0, left);
        left -= count;
      }
    }
    return to;
  }

  /**
   * Calls `take` for each match with a rank (number of newer messages) in [from, to), newest first. Stops when `take`
   * returns false.
   */
  each(from: number, to: number, take: (rank: number) => boolean): boolean {
    const { layouts, timeline } = this.#rows;
    for (const { rank, block, blocks, first, end } of timeline.stretches(from, to)) {
      if (blocks === 0 && !this.#eachIn(layouts.numberOf(block), first, end, rank - first, take)) return false;
      for (let passed = 0; passed < blocks; passed++) {
        const layout = layouts.numberOf(block + passed);
        if (this.#whole(layout) === 0) continue;
        if (!this.#eachIn(layout, 0, layouts.rows, rank + passed * layouts.rows, take)) return false;
      }
    }
    return true;
  }

  /** Adds the matches with ranks in [from, to) to `tally`. The rank of a message is the number of newer messages. */
  addTo(tally: MatchTally, from: number, to: number): void {
    const { layouts, timeline } = this.#rows;
    for (const { block, blocks, first, end } of timeline.stretches(from, to)) {
      if (blocks > 0) this.#addBlocks(tally, block, blocks);
      else this.#addPart(tally, layouts.numberOf(block), first, end);
    }
  }

  #addBlocks(tally: MatchTally, first: number, blocks: number): void {
    const { layouts } = this.#rows;
    const blocksOf = new Float64Array(layoutCount);
    for (let block = first; block < first + blocks; block++) {
      const layout = layouts.numberOf(block);
      blocksOf[layout] = (blocksOf[layout] as number) + 1;
    }
    for (let layout = 0; layout < layoutCount; layout++) {
      const count = blocksOf[layout] as number;
      if (count > 0) tally.addBlocks(layout, count, this.#templates);
    }
  }

  #addPart(tally: MatchTally, layout: number, first: number, end: number): void {
    const { templates } = this.#rows.layouts.layout(layout);
    for (let entry = first; entry < end; entry++) {
      const template = templates[entry] as number;
      if (this.#templates[template] === 1) tally.add(template, 1);
    }
  }

  #whole(layout: number): number {
    const known = this.#inLayout[layout] as number;
    if (known >= 0) return known;
    const count = this.#countIn(layout, 0, this.#rows.layouts.rows);
    this.#inLayout[layout] = count;
    return count;
  }

  #countIn(layout: number, first: number, end: number): number {
    const { templates } = this.#rows.layouts.layout(layout);
    let count = 0;
    for (let entry = first; entry < end; entry++) count += this.#templates[templates[entry] as number] as number;
    return count;
  }

  #entry(layout: number, first: number, index: number): number {
    const { templates } = this.#rows.layouts.layout(layout);
    let left = index;
    for (let entry = first; ; entry++) {
      if (this.#templates[templates[entry] as number] === 1 && left-- === 0) return entry;
    }
  }

  #eachIn(layout: number, first: number, end: number, blockRank: number, take: (rank: number) => boolean): boolean {
    const { templates } = this.#rows.layouts.layout(layout);
    for (let entry = first; entry < end; entry++) {
      if (this.#templates[templates[entry] as number] === 1 && !take(blockRank + entry)) return false;
    }
    return true;
  }
}
