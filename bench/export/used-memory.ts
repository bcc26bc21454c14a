/**
 * Memory that the machine has used before, for the files that a measured process writes. A virtual machine gets a page of memory from its host
 * when it first uses it, and may give it back once it is free; to write a file into such pages takes ten times as long as
 * otherwise, and more than anything else that an export does. How long says nothing of the export.
 *
 * So a file in memory holds as much as will be written, and shrinks as the measured process writes: what it gives back is what the kernel
 * hands out next. Where there is no `/dev/shm`, nothing is held.
 */
import { closeSync, existsSync, ftruncateSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';

const place = '/dev/shm';
const chunk = Buffer.alloc(2 ** 20);
/** So much more than was written is free at any time. */
const leadBytes = 64 * 2 ** 20;

export class UsedMemory {
  readonly #file: number | undefined;
  readonly #name = path.join(place, `logfleet-bench-${process.pid}`);
  #bytes = 0;
  readonly #atFirst: number;

  constructor(estimatedBytes: number) {
    const bytes = Math.ceil(estimatedBytes);
    this.#atFirst = bytes;
    if (!existsSync(place)) return;
    this.#file = openSync(this.#name, 'w');
    for (; this.#bytes < bytes; this.#bytes += chunk.length) writeSync(this.#file, chunk);
  }

  /** To be called while files grow in `directory`. */
  giveWay(directory: string): void {
    const left = Math.max(0, this.#atFirst - bytesIn(directory) - leadBytes);
    if (this.#file === undefined || left >= this.#bytes) return;
    ftruncateSync(this.#file, left);
    this.#bytes = left;
  }

  end(): void {
    if (this.#file === undefined) return;
    closeSync(this.#file);
    rmSync(this.#name);
  }
}

export function bytesIn(directory: string): number {
  let bytes = 0;
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile())
      bytes += statSync(path.join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}
