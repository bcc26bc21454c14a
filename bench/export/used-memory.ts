/**
 * Makes file writes take the same time in every run on a virtual machine, where memory is slow when it is first used. A
 * file in `/dev/shm` therefore uses the memory before the measurement. The file shrinks while the measured process
 * writes.
 */
import { closeSync, existsSync, ftruncateSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';

const place = '/dev/shm';
const chunk = Buffer.alloc(2 ** 20);
/**
 * Number of bytes that are freed in advance, in addition to the size of the files that the measured process has written
 * so far.
 */
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
   * Shrinks the file in `/dev/shm`, so that the freed memory is the size of the files in `directory` plus `leadBytes`.
   * Must be called regularly while these files grow.
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
