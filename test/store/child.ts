/** Starts `other-process.ts` as a child process, and kills it when the test ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { compileCache } from '../support/compile-cache.ts';
import type { Act } from './other-process.ts';
import type { PlaceData } from './place.ts';

export class Child {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  /** @param maxFileBlocks maximum size of each file written, in shell blocks (512 or 1,024 bytes) */
  constructor(place: PlaceData, act: Act, maxFileBlocks?: number) {
    const program = join(import.meta.dirname, 'other-process.ts');
    const limit = maxFileBlocks === undefined ? '' : `ulimit -f ${maxFileBlocks}; `;
    const command = [process.execPath, program, JSON.stringify({ place, act })];
    this.#process = spawn('sh', ['-c', `${limit}exec "$@"`, 'sh', ...command], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    });
    this.#lines = createInterface({ input: this.#process.stdout! })[Symbol.asyncIterator]();
  }

  async line(): Promise<Record<string, unknown>> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('the other process ended');
    return JSON.parse(value);
  }

  go(): void {
    this.#process.stdin?.write('go\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    if (this.#process.exitCode === null && this.#process.signalCode === null) await once(this.#process, 'exit');
  }
}
