/**
 * Stores resource ledgers as files. Each ledger object (*shard* in code) is one file: `{"version":"3","content":"…"}`.
 *
 * Invariants:
 * - Reads and writes of the same ledger never overlap.
 * - A resource never uses the ledger of a deleted resource with the same name.
 */
import { jsonReader, objectOf, textShape } from '../../api/json-shape.ts';
import { crossing } from '../../base/boundary.ts';
import { failure } from '../../base/errors.ts';
import { keyText } from '../../base/key-text.ts';
import { assertShard, type LedgerShard, type LedgerStore, type OwnerRef } from '../host.ts';
import { readIfPresent, requireState, writeDurably } from './durable-file.ts';
import type { SerialQueue } from './serial-queue.ts';
import type { StateDirectory } from './state-directory.ts';

export class LedgerFiles implements LedgerStore {
  readonly #stateOf: (owner: OwnerRef) => StateDirectory | undefined;
  readonly #queue: SerialQueue;
  readonly #isOperator: boolean;

  /**
   * @param stateOf returns the state folder of a resource, or undefined if no resource has this uid
   * @param isOperator true for the operator, which fails if the folder `.logfleet` is missing; other commands accept
   * directories without this folder
   */
  constructor(stateOf: (owner: OwnerRef) => StateDirectory | undefined, queue: SerialQueue, isOperator: boolean) {
    this.#stateOf = stateOf;
    this.#queue = queue;
    this.#isOperator = isOperator;
  }

  read(owner: OwnerRef, shard: string): Promise<LedgerShard | undefined> {
    return this.#queue.run(owner.uid, async () => {
      const state = this.#stateOf(owner);
      return state && this.#read(state, state.ledgerFile(owner, shard));
    });
  }

  write(owner: OwnerRef, shard: string, content: string, expected: string | undefined): Promise<string> {
    assertShard(owner, shard, content);
    const { kind, uid } = owner;
    return this.#queue.run(uid, () =>
      crossing('ledger.write', async () => {
        const state = this.#stateOf(owner);
        if (!state) throw failure('wait', 'host.gone', `${kind} ${keyText(owner)} with uid ${uid} no longer exists`);
        await requireState(state);
        const path = state.ledgerFile(owner, shard);
        const current = (await this.#read(state, path))?.version;
        if (current !== expected) throw failure('backoff', 'host.conflict', `${path} has changed since it was read`);
        const version = String(Number(current ?? 0) + 1);
        await writeDurably(path, `${JSON.stringify({ version, content })}\n`);
        return version;
      }),
    );
  }

  async #read(state: StateDirectory, path: string): Promise<LedgerShard | undefined> {
    const shard = await readShard(path);
    // If the directory is unavailable, the read must fail. If it returned undefined, the ledger would count as lost
    // (U1).
    if (shard === undefined && this.#isOperator) await requireState(state);
    return shard;
  }
}

const decodeShard = jsonReader<LedgerShard>(
  objectOf({ content: textShape, version: { type: 'string', pattern: '^\\d{1,15}$' } }),
);

async function readShard(path: string): Promise<LedgerShard | undefined> {
  const stored = await readIfPresent(path);
  if (stored === undefined) return undefined;
  const shard = decodeShard(stored);
  if (shard) return shard;
  const message = `${path} is not a valid ledger file: restore it from a backup, or delete it while no upgrade is in progress`;
  throw failure('stall', 'ledger.unreadable', message, { reason: 'LedgerUnreadable' });
}
