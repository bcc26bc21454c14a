/**
 * Who writes: tokens that stand in names of data files and of uploads, so that what a process which died left behind can be
 * told from what a living one is writing (E15).
 *
 * A token says within which scope its pid means something, the pid, when that process began, and a number of its own. Of a
 * process in our scope it is known whether it lives; of others (in another container, on another machine, before a reboot)
 * only the age of what they left can tell.
 */
import { createHash } from 'node:crypto';
import { isRunning, ownIdentity, type ProcessIdentity } from '../base/process-identity.ts';
import type { Random } from '../base/random.ts';

const form = /(?<![0-9a-z])w([0-9a-f]{8})-(\d+)-(\d*)-[0-9a-f]{16}(?![0-9a-z])/;

/** `unknown`: not of our scope, or no token of ours. */
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

  /** Letters, digits and minuses; never the same twice. */
  newToken(): string {
    const { scope, pid, processStart } = this.#identity;
    const digits = () =>
      Math.floor(this.#random.next() * 2 ** 32)
        .toString(16)
        .padStart(8, '0');
    return `w${digest(scope)}-${pid}-${processStart}-${digits()}${digits()}`;
  }

  /** Whether the process still runs whose token stands in `name`. */
  async stateOf(name: string): Promise<WriterState> {
    const [, scope, pid, processStart = ''] = form.exec(name) ?? [];
    if (scope !== digest(this.#identity.scope)) return 'unknown';
    return (await isRunning({ pid: Number(pid), processStart })) ? 'living' : 'ended';
  }
}

function digest(scope: string): string {
  return createHash('sha256').update(scope).digest('hex').slice(0, 8);
}
