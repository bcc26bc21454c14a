/**
 * Identifies the process that writes a file, by a token in the names of files and uploads (E15). The token contains a
 * hash of the machine or container, the process id, the process start time and a random number. A process can check
 * only processes on its own machine or in its own container.
 */
import { createHash } from 'node:crypto';
import { isRunning, ownIdentity, type ProcessIdentity } from '../../base/process-identity.ts';
import type { Random } from '../../base/random.ts';

const form = /(?<![0-9a-z])w([0-9a-f]{8})-(\d+)-(\d*)-[0-9a-f]{16}(?![0-9a-z])/;

/**
 * State of the process that writes a file. It is `unknown` if the process runs elsewhere, or if the file name contains
 * no token.
 */
export type WriterState = 'living' | 'ended' | 'unknown';

export class Writer {
  readonly #identity: ProcessIdentity;
  readonly #random: Random;
  readonly #abandoned = new Set<string>();

  static async ours(random: Random): Promise<Writer> {
    return new Writer(await ownIdentity(), random);
  }

  constructor(identity: ProcessIdentity, random: Random) {
    this.#identity = identity;
    this.#random = random;
  }

  /** Creates a unique token of letters, digits and hyphens. */
  newToken(): string {
    const { scope, pid, processStart } = this.#identity;
    const digits = () =>
      Math.floor(this.#random.next() * 2 ** 32)
        .toString(16)
        .padStart(8, '0');
    return `w${digest(scope)}-${pid}-${processStart}-${digits()}${digits()}`;
  }

  /**
   * Records that this process could not remove one of its files. `stateOf` then returns `ended` for this file, so that
   * a later cleanup removes it.
   */
  abandon(name: string): void {
    this.#abandoned.add(name);
  }

  /** Returns the state of the process that writes a file. The token in the file's name identifies the process. */
  async stateOf(name: string): Promise<WriterState> {
    if (this.#abandoned.has(name)) return 'ended';
    const [, scope, pid, processStart = ''] = form.exec(name) ?? [];
    if (scope !== digest(this.#identity.scope)) return 'unknown';
    return (await isRunning({ pid: Number(pid), processStart })) ? 'living' : 'ended';
  }
}

function digest(scope: string): string {
  return createHash('sha256').update(scope).digest('hex').slice(0, 8);
}
