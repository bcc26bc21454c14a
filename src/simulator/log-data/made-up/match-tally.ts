/**
 * How many matches there are of each kind. Templates that agree in all that somebody reads are of one kind: what was read of one
 * message holds for all of its kind.
 *
 * Invariant: whole blocks are counted by their layout, of which the kinds are found once.
 */
import { layoutCount } from './layouts.ts';
import type { MadeUpRows } from './made-up-rows.ts';

/** How many matches of which kind a block has. */
interface LayoutKinds {
  readonly kinds: readonly number[];
  readonly counts: readonly number[];
}

export class MatchTally {
  readonly #rows: MadeUpRows;
  /** The kind of each template: the number of the first template that is of it. */
  readonly #kinds: Uint32Array;
  /** By kind. */
  readonly #times: Float64Array;
  /** Kinds that have any. */
  #present: number[] = [];
  readonly #layouts: (LayoutKinds | undefined)[] = new Array(layoutCount).fill(undefined);

  /** `reads`: fields in lower case that a template settles. */
  constructor(rows: MadeUpRows, reads: ReadonlySet<string>) {
    this.#rows = rows;
    this.#kinds = kindsOf(rows, reads);
    this.#times = new Float64Array(rows.templates.count);
  }

  /** How many kinds of messages there are. */
  get kindCount(): number {
    return new Set(this.#kinds).size;
  }

  add(template: number, times: number): void {
    this.#addKind(this.#kinds[template] as number, times);
  }

  /** Whole blocks of one layout. `isMatch` has 1 for each template that matches, and is the same in every call. */
  addBlocks(layout: number, blocks: number, isMatch: Uint8Array): void {
    const { kinds, counts } = this.#kindsIn(layout, isMatch);
    for (let index = 0; index < kinds.length; index++) {
      this.#addKind(kinds[index] as number, (counts[index] as number) * blocks);
    }
  }

  /** Calls back for each kind that has matches, with one of its templates, and begins anew. */
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
  // Hardly two of these are the same, and comparing them takes long.
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
