/** Rows for tests of encoders, as a page has them, and sinks that keep what they got. */
import type { PartSink } from '../../../src/output/part-writer.ts';
import type { RawRow } from '../../../src/output/row-encoder.ts';

export function rowOf(text: string): RawRow {
  return { bytes: Buffer.from(text) };
}

export function rowWith(members: Readonly<Record<string, unknown>>): RawRow {
  return rowOf(JSON.stringify(members));
}

/** Where rows stand in a page: between other bytes, and written over once they were taken. */
export class PassingRow {
  readonly #memory = Buffer.alloc(2 ** 20, '"');

  hand(text: string, take: (row: RawRow) => void): void {
    const length = this.#memory.write(text, 13);
    take({ bytes: this.#memory.subarray(13, 13 + length) });
    this.#memory.fill('"');
  }
}

/** Keeps a copy of everything, and tells in which order it was called. */
export class KeepingSink implements PartSink {
  readonly calls: ('write' | 'finish' | 'abort')[] = [];
  readonly #chunks: Buffer[] = [];

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.calls.push('write');
    this.#chunks.push(Buffer.from(chunk));
  }

  async finish(): Promise<void> {
    this.calls.push('finish');
  }

  async abort(): Promise<void> {
    this.calls.push('abort');
  }
}
