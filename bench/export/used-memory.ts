/**
 * Makes file writes take the same time in every run of a benchmark. On a virtual machine, memory is slow when it is
 * first used, so this code first fills memory with a file in `/dev/shm`. While the measured process writes its own
 * files, this code shrinks the file, so that the process gets memory that has been used before.
 */
import { closeSync, existsSync, ftruncateSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';

const place = '/dev/shm';
const chunk = Buffer.alloc(2 ** 20);
/** Amount of memory, in bytes, that is freed before the measured process needs it. */
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

  /**
   * Shrinks the file in `/dev/shm` until the freed memory exceeds the size of the files in `directory` by `leadBytes`.
   * Must be called regularly while the files in `directory` grow.
   */
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
