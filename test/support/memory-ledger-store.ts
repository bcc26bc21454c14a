/** In-memory store for ledgers, with optimistic locking. Tests can inspect its writes, or make them fail. */
import { LogfleetError } from '../../src/base/errors.ts';
import { type LedgerShard, type LedgerStore, maxShardBytes, type OwnerRef } from '../../src/host/host.ts';

export const owner: OwnerRef = {
  kind: 'CollectorVersionPolicy',
  namespace: 'logging',
  name: 'production',
  uid: 'policy-a',
};

export class MemoryLedgerStore implements LedgerStore {
  readonly shards = new Map<string, LedgerShard>();
  /** Names of the ledger objects written, in order. */
  readonly writes: string[] = [];
  /** Called before each write of a ledger object. If it throws, the write fails. */
  beforeWrite: (shard: string) => void = () => {};
  #versions = 0;

  async read(_: OwnerRef, shard: string): Promise<LedgerShard | undefined> {
    return this.shards.get(shard);
  }

  async write(_: OwnerRef, shard: string, content: string, expected: string | undefined): Promise<string> {
    this.beforeWrite(shard);
    if (this.shards.get(shard)?.version !== expected) {
      throw new LogfleetError({ code: 'host.conflict', message: 'it is another', handling: { kind: 'backoff' } });
    }
    if (Buffer.byteLength(content) > maxShardBytes) throw new Error(`${shard} has ${Buffer.byteLength(content)} bytes`);
    const isSame = this.shards.get(shard)?.content === content;
    const version = isSame && expected !== undefined ? expected : String(++this.#versions);
    this.shards.set(shard, { content, version });
    this.writes.push(shard);
    return version;
  }
}
