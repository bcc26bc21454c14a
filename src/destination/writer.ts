/**
 * Identity of the process that writes a file: a token in the names of data files and uploads. The token shows whether a file belongs to a
 * running process or to a process that has ended (E15).
 *
 * A token contains the scope of the process id, the process id, the start of the process, and a counter. The scope is the container or
 * machine, and its boot. logfleet can check a process only if it runs in the same scope. For files of other processes, only the age of the
 * file counts.
 */
import { createHash } from 'node:crypto';
import { isRunning, ownIdentity, type ProcessIdentity } from '../base/process-identity.ts';
import type { Random } from '../base/random.ts';

const form = /(?<![0-9a-z])w([0-9a-f]{8})-(\d+)-(\d*)-[0-9a-f]{16}(?![0-9a-z])/;

/**
 * State of the process that wrote a file. `unknown` means that the process ran on another machine or in another container, or that the file
 * name contains no token.
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

  /** Creates a unique token of letters, digits and minuses for file names. */
  newToken(): string {
    const { scope, pid, processStart } = this.#identity;
    const digits = () =>
      Math.floor(this.#random.next() * 2 ** 32)
        .toString(16)
        .padStart(8, '0');
    return `w${digest(scope)}-${pid}-${processStart}-${digits()}${digits()}`;
  }

  /** Remembers a file of this process that could not be removed. From then on, the file counts as written by a process that has ended. */
  abandon(name: string): void {
    this.#abandoned.add(name);
  }

  /** Returns whether the process that wrote the file `name` is still running. */
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
