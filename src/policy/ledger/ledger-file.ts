/**
 * Stores a policy's ledger in shards of the host, which is the Kubernetes API or a directory (U1). The head shard (header and
 * open attempts) is written with every change. Before the head shard grows too large, its ended entries move to log shards, which
 * are written once. So a write costs the same in the last hour of a rollout as in the first.
 *
 * The members of a stage are in separate shards, which are written once when the stage starts.
 *
 * Invariant: the head shard is written last and names the valid log and member shards. A process that stops between two writes
 * leaves a shard that is never read. When a named shard is missing, a person removed it. The ledger is then unreadable, and a
 * person must decide how to continue.
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

/** Size of the head shard in bytes at which its ended entries move to a log shard. */
const flushBytes = maxShardBytes / 2;
const maxLogs = 64;
/** Size of the head shard in bytes at which the ledger has no room for another batch of attempts. */
const fullBytes = 1.5 * flushBytes;

export class LedgerFile {
  readonly #store: LedgerStore;
  readonly #owner: OwnerRef;
  readonly #versions = new Map<string, string>();
  /**
   * Encoded entries of the head shard (the first file of the ledger): open attempts, and ended
   * attempts that no log shard contains in the same form.
   */
  readonly #open = new SparseMap<string, string>();
  readonly #ended = new SparseMap<string, string>();
  readonly #logged = new SparseSet<string>();
  readonly #forgotten = new SparseSet<string>();
  #logs = 0;
  /** Id of the rollout in the stored head shard. */
  #writtenRollout: string | undefined;
  #full = false;

  constructor(store: LedgerStore, owner: OwnerRef) {
    this.#store = store;
    this.#owner = owner;
  }

  /** Whether the last read or write left no room in the ledger for another batch of attempts (U1). */
  get full(): boolean {
    return this.#full;
  }

  /** Whether a head shard of this ledger is stored: this process has read or written it. */
  get isWritten(): boolean {
    return this.#versions.has('head');
  }

  /**
   * Reads the stored ledger; resolves to undefined when none is stored.
   * @param takeoverMs monotonic time in ms from which this process counts the ages of all attempts
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
   * Stores the changes of the ledger. `ledger` already contains them. Throws `host.conflict` when another process has changed the
   * stored ledger.
   * @param changes entries that differ from the stored ledger
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

  /** Begins another rollout in this ledger. The stored entries of the former rollout are no longer used. */
  restart(ledger: Ledger): void {
    this.#open.clear();
    this.#ended.clear();
    this.#logged.clear();
    this.#forgotten.clear();
    this.#logs = 0;
    for (const entry of ledger.entries()) this.#line(entry, ledger.header.target);
  }

  /**
   * Whether ended entries move from the head shard to a log shard with this write. They never move while the stored head shard
   * belongs to a former rollout, because that head shard may still refer to the log shard that would be overwritten.
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

  /** Reads the entries of all log shards to which the head shard refers. */
  async #readLogs(logs: number, rolloutId: string, takeoverMs: number): Promise<readonly Entry[]> {
    const names = Array.from({ length: logs }, (_, log) => logName(log));
    const shards = await Promise.all(names.map((name) => this.#read(name)));
    return names.flatMap((name, log) => decodeLog(name, shards[log]?.content, rolloutId, takeoverMs));
  }

  /** Reads the members of the started stages, each with the index of its stage. */
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

  /**
   * Reads shards (files of the ledger) that the head shard names. When the read fails, another
   * process, such as a former leader, may have replaced these shards and the head shard meanwhile.
   * In that case, the thrown error reports this change.
   */
  async #unlessReplaced<T>(head: LedgerShard, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if ((await this.#store.read(this.#owner, 'head'))?.version === head.version) throw error;
      throw changedMeanwhile(this.#owner, error);
    }
  }

  /**
   * Writes the members of the newest stage to member shards (files of the ledger). A head shard of
   * a former rollout may refer to shards with the same names. In that case, a head shard of this
   * rollout without the new stage is written first.
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

  /**
   * Writes a shard that does not change afterwards. A shard of the same name may exist from an earlier rollout, or from a process
   * that stopped before it wrote the head shard. Such a shard is overwritten.
   */
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
