/**
 * Identity of the processes that write files: a token in the names of data files and uploads. The token distinguishes files of a dead
 * process from those of a running one (E15).
 *
 * A token contains the scope of the process id, the process id, the start of the process, and a counter. The scope is the container or
 * machine and its boot. Only a process in the same scope can be checked; for others, only the age of their files counts.
 */
import { createHash } from 'node:crypto';
import { isRunning, ownIdentity, type ProcessIdentity } from '../base/process-identity.ts';
import type { Random } from '../base/random.ts';

const form = /(?<![0-9a-z])w([0-9a-f]{8})-(\d+)-(\d*)-[0-9a-f]{16}(?![0-9a-z])/;

/**
 * State of the process that wrote a file. `unknown`: the process ran on another machine or in another container, or the file name contains
 * no token.
 */
export type WriterState = 'living' | 'ended' | 'unknown';

export class Writer {
  readonly #identity: ProcessIdentity;
  readonly #random: Random;

  static async ours(random: Random): Promise<Writer> {
    return new Writer(await ownIdentity(), random);
  }

  constructor(identity: ProcessIdentity, random: Random) {
    this.#identity = identity;
    this.#random = random;
  }

  /** Creates a unique token for file names from letters, digits and minuses. */
  newToken(): string {
    const { scope, pid, processStart } = this.#identity;
    const digits = () =>
      Math.floor(this.#random.next() * 2 ** 32)
        .toString(16)
        .padStart(8, '0');
    return `w${digest(scope)}-${pid}-${processStart}-${digits()}${digits()}`;
  }

  /** Returns whether the process that wrote the file `name` is still running. */
  async stateOf(name: string): Promise<WriterState> {
    const [, scope, pid, processStart = ''] = form.exec(name) ?? [];
    if (scope !== digest(this.#identity.scope)) return 'unknown';
    return (await isRunning({ pid: Number(pid), processStart })) ? 'living' : 'ended';
  }
}

function digest(scope: string): string {
  return createHash('sha256').update(scope).digest('hex').slice(0, 8);
}
