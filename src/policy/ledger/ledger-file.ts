/**
 * Keeps a policy's ledger in the host's shards (U1). The head is written with every change. Before the head grows too large,
 * its ended entries move to write-once log shards, so that a write costs the same in the last hour of a rollout as in the first.
 *
 * The members of a stage are in shards of their own, which are written once, when the stage starts.
 *
 * Invariant: the head is written last, and names the log and member shards that count. A process that stops between the two writes
 * leaves a shard that is not read. When a counted shard is missing, a person removed it: the ledger is then unreadable, and a person
 * decides.
 */

import { LogfleetError } from '../../base/errors.ts';
import { SparseMap, SparseSet } from '../../base/sparse.ts';
import { type LedgerShard, type LedgerStore, maxShardBytes, type OwnerRef } from '../../host/host.ts';
import { type Entry, type EntryChange, Ledger, type LedgerHeader } from './ledger.ts';
import {
  decodeHead,
  decodeLog,
  decodeMembers,
  encodeEntry,
  encodeHead,
  encodeLog,
  encodeMembers,
  splitMembers,
} from './ledger-codec.ts';

/** Size of the head in bytes from which ended entries move to a log shard. */
const flushBytes = maxShardBytes / 2;
const maxLogs = 64;
/** Size of the head in bytes at which there is no room for another batch. */
const fullBytes = 1.5 * flushBytes;

export class LedgerFile {
  readonly #store: LedgerStore;
  readonly #owner: OwnerRef;
  readonly #versions = new Map<string, string>();
  /** Encoded lines of the head: open entries, and ended entries that no log shard holds in this form. */
  readonly #open = new SparseMap<string, string>();
  readonly #ended = new SparseMap<string, string>();
  readonly #logged = new SparseSet<string>();
  readonly #forgotten = new SparseSet<string>();
  #logs = 0;
  /** Rollout id of the head that is stored in the host. */
  #writtenRollout: string | undefined;
  #full = false;

  constructor(store: LedgerStore, owner: OwnerRef) {
    this.#store = store;
    this.#owner = owner;
  }

  /** Whether the last read or write left no room for another batch (U1). */
  get full(): boolean {
    return this.#full;
  }

  /** Whether the host has this ledger: its head was read or written. */
  get isWritten(): boolean {
    return this.#versions.has('head');
  }

  /**
   * The stored ledger, or undefined when there is none.
   * @param takeoverMs monotonic time from which all ages of this process count
   */
  async load(takeoverMs: number): Promise<Ledger | undefined> {
    const head = await this.#read('head');
    if (!head) return undefined;
    this.#full = Buffer.byteLength(head.content) > fullBytes;
    const { header, logs, entries, forgotten } = decodeHead(head.content, takeoverMs);
    const all = new Map<string, Entry>();
    const { logged, members } = await this.#unlessReplaced(head, async () => ({
      logged: await this.#readLogs(logs, header.rolloutId, takeoverMs),
      members: await this.#readMembers(header),
    }));
    for (const entry of logged) {
      all.set(entry.collectorId, entry);
      this.#logged.add(entry.collectorId);
    }
    for (const id of forgotten) {
      all.delete(id);
      this.#forgotten.add(id);
    }
    for (const entry of entries) {
      all.set(entry.collectorId, entry);
      this.#line(entry, header.target);
    }
    this.#logs = logs;
    this.#writtenRollout = header.rolloutId;
    return new Ledger(header, all.values(), members);
  }

  /**
   * Makes `changes` durable; `ledger` already contains them. Throws `host.conflict` when another process wrote.
   * @param started members of a stage that starts with this write
   */
  async save(ledger: Ledger, changes: readonly EntryChange[], started: readonly string[] = []): Promise<void> {
    const { header } = ledger;
    for (const change of changes) this.#note(change, header.target);
    if (started.length > 0) await this.#writeMembers(header, started);
    let head = this.#encode(header);
    if (this.#isFlushDue(head, header)) {
      await this.#flush(header);
      head = this.#encode(header);
    }
    this.#full = Buffer.byteLength(head) > fullBytes;
    await this.#writeHead(header, head);
  }

  /** Another rollout begins with this ledger. The lines of the former rollout no longer count. */
  restart(ledger: Ledger): void {
    this.#open.clear();
    this.#ended.clear();
    this.#logged.clear();
    this.#forgotten.clear();
    this.#logs = 0;
    for (const entry of ledger.entries()) this.#line(entry, ledger.header.target);
  }

  /**
   * Whether ended entries move to a log shard with this write. Never before the stored head belongs to this rollout, because the
   * stored head may count the log shard that would be overwritten.
   */
  #isFlushDue(head: string, { rolloutId }: LedgerHeader): boolean {
    if (Buffer.byteLength(head) <= flushBytes || this.#writtenRollout !== rolloutId) return false;
    return this.#ended.size > 0 && this.#logs < maxLogs;
  }

  #note({ collectorId, entry }: EntryChange, target: string): void {
    this.#open.delete(collectorId);
    this.#ended.delete(collectorId);
    this.#forgotten.delete(collectorId);
    if (entry) this.#line(entry, target);
    else if (this.#logged.has(collectorId)) this.#forgotten.add(collectorId);
  }

  #line(entry: Entry, target: string): void {
    (entry.open ? this.#open : this.#ended).set(entry.collectorId, encodeEntry(entry, target));
  }

  #encode(header: LedgerHeader): string {
    return encodeHead(header, this.#logs, this.#open.values(), this.#ended.values(), this.#forgotten);
  }

  async #read(shard: string): Promise<LedgerShard | undefined> {
    const stored = await this.#store.read(this.#owner, shard);
    if (stored) this.#versions.set(shard, stored.version);
    return stored;
  }

  /** Entries of the log shards that the head counts. */
  async #readLogs(logs: number, rolloutId: string, takeoverMs: number): Promise<readonly Entry[]> {
    const names = Array.from({ length: logs }, (_, log) => logName(log));
    const shards = await Promise.all(names.map((name) => this.#read(name)));
    return names.flatMap((name, log) => decodeLog(name, shards[log]?.content, rolloutId, takeoverMs));
  }

  /** Listed members of the started stages, with the index of their stage. */
  async #readMembers({ rolloutId, stages = [] }: LedgerHeader): Promise<readonly (readonly [string, number])[]> {
    const read = stages.flatMap(({ shards: [first, end] = [0, 0] }, stage) =>
      Array.from({ length: end - first }, async (_, part) => {
        const name = membersName(first + part);
        const ids = decodeMembers(name, (await this.#read(name))?.content, rolloutId);
        return ids.map((id) => [id, stage] as const);
      }),
    );
    return (await Promise.all(read)).flat();
  }

  /** Reads shards that the head counts. A former leader may replace the head and these shards meanwhile. */
  async #unlessReplaced<T>(head: LedgerShard, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if ((await this.#store.read(this.#owner, 'head'))?.version === head.version) throw error;
      throw changedMeanwhile(this.#owner, error);
    }
  }

  /**
   * Writes the members of the newest stage. The stored head may still belong to a former rollout, and count shards of the same names.
   * A head of this rollout without the stage then comes first.
   */
  async #writeMembers(header: LedgerHeader, members: readonly string[]): Promise<void> {
    const { stages = [], rolloutId } = header;
    if (this.#writtenRollout !== undefined && this.#writtenRollout !== rolloutId) {
      await this.#writeHead({ ...header, stages: stages.slice(0, -1) });
    }
    const [first] = stages.at(-1)?.shards ?? [0];
    for (const [part, ids] of splitMembers(members).entries()) {
      const summary = `rollout ${rolloutId}: ${ids.length} members of stage ${stages.at(-1)?.name}`;
      await this.#writeOnce(membersName(first + part), encodeMembers(header, ids), summary);
    }
  }

  async #flush(header: LedgerHeader): Promise<void> {
    const content = encodeLog(header, this.#ended.values());
    await this.#writeOnce(logName(this.#logs), content, summaryOf(header, 0, this.#ended.size));
    for (const id of this.#ended.keys()) this.#logged.add(id);
    this.#ended.clear();
    this.#logs++;
  }

  async #writeHead(header: LedgerHeader, content = this.#encode(header)): Promise<void> {
    await this.#write('head', content, summaryOf(header, this.#open.size, this.#ended.size));
    this.#writtenRollout = header.rolloutId;
  }

  /** The name may be taken by a shard of an earlier rollout, or of a process that stopped before it wrote the head. */
  async #writeOnce(shard: string, content: string, summary: string): Promise<void> {
    if (!this.#versions.has(shard)) await this.#read(shard);
    await this.#write(shard, content, summary);
  }

  async #write(shard: string, content: string, summary: string): Promise<void> {
    const expected = this.#versions.get(shard);
    this.#versions.set(shard, await this.#store.write(this.#owner, shard, content, expected, summary));
  }
}

function summaryOf({ rolloutId }: LedgerHeader, open: number, ended: number): string {
  return `rollout ${rolloutId}: ${open} open, ${ended} ended`;
}

function changedMeanwhile({ kind, namespace, name }: OwnerRef, cause: unknown): LogfleetError {
  return new LogfleetError({
    code: 'host.conflict',
    handling: { kind: 'backoff' },
    message: `The ledger of ${kind} ${namespace}/${name} changed while it was read. It is read again.`,
    cause,
  });
}

function logName(log: number): string {
  return `log-${log}`;
}

function membersName(shard: number): string {
  return `members-${shard}`;
}
