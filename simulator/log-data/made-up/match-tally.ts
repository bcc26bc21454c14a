/**
 * Counts matches for an aggregation. Matches are counted together if they have equal values in the fields that the
 * aggregation reads.
 */
import { layoutCount } from './layouts.ts';
import type { MadeUpRows } from './made-up-rows.ts';

interface LayoutKinds {
  readonly kinds: readonly number[];
  readonly counts: readonly number[];
}

export class MatchTally {
  readonly #rows: MadeUpRows;
  /**
   * Number of the message kind of each template. Two templates have the same message kind if the aggregation reads
   * equal values from their messages.
   */
  readonly #kinds: Uint32Array;
  readonly #times: Float64Array;
  #present: number[] = [];
  readonly #layouts: (LayoutKinds | undefined)[] = new Array(layoutCount).fill(undefined);

  /**
   * Creates a counter of matches for an aggregation. `reads` contains the lower-case names of the fields that the
   * aggregation reads.
   */
  constructor(rows: MadeUpRows, reads: ReadonlySet<string>) {
    this.#rows = rows;
    this.#kinds = kindsOf(rows, reads);
    this.#times = new Float64Array(rows.templates.count);
  }

  /** Number of message kinds. Two messages are of the same kind if the aggregation reads equal values from them. */
  get kindCount(): number {
    return new Set(this.#kinds).size;
  }

  add(template: number, times: number): void {
    this.#addKind(this.#kinds[template] as number, times);
  }

  /**
   * Counts the matches in `blocks` message blocks that have the same layout. For each message template, `isMatch`
   * contains 1 if the messages of the template match, and otherwise 0.
   */
  addBlocks(layout: number, blocks: number, isMatch: Uint8Array): void {
    const { kinds, counts } = this.#kindsIn(layout, isMatch);
    for (let index = 0; index < kinds.length; index++) {
      this.#addKind(kinds[index] as number, (counts[index] as number) * blocks);
    }
  }

  /**
   * Calls `each` for each message kind that has matches, with the number of matches. Then resets these numbers to 0.
   */
  take(each: (template: number, times: number) => void): void {
    for (const kind of this.#present) {
      each(kind, this.#times[kind] as number);
      this.#times[kind] = 0;
    }
    this.#present = [];
  }

  #addKind(kind: number, times: number): void {
    const before = this.#times[kind] as number;
    if (before === 0) this.#present.push(kind);
    this.#times[kind] = before + times;
  }

  #kindsIn(layout: number, isMatch: Uint8Array): LayoutKinds {
    const known = this.#layouts[layout];
    if (known) return known;
    const counts = new Map<number, number>();
    for (const template of this.#rows.layouts.layout(layout).templates) {
      const kind = this.#kinds[template] as number;
      if (isMatch[template] === 1) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    const found = { kinds: [...counts.keys()], counts: [...counts.values()] };
    this.#layouts[layout] = found;
    return found;
  }
}

function kindsOf({ templates }: MadeUpRows, reads: ReadonlySet<string>): Uint32Array {
  const kinds = Uint32Array.from({ length: templates.count }, (_, template) => template);
  // If the aggregation reads message texts, each template gets its own message kind, because comparing long texts would
  // be slow.
  if (reads.has('_raw')) return kinds;
  const names = [...reads];
  const firsts = new Map<string, number>();
  return kinds.map((template) => {
    const { fields } = templates.at(template);
    const values = JSON.stringify(names.map((name) => fields.get(name) ?? null));
    const first = firsts.get(values) ?? template;
    firsts.set(values, first);
    return first;
  });
}
