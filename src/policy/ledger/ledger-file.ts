/**
 * Stores a policy's ledger as several objects (*shards* in code) in the Kubernetes API or a directory (U1).
 *
 * - `head` contains the header, open attempts and recently ended attempts. It is written after every change.
 * - `log-N` contains attempts that ended earlier, so that `head` stays small.
 * - `members-STAGE-N` contains the collectors that a started stage has chosen.
 *
 * Invariants:
 * - `head` shows which other objects are in use. If one of these objects is missing, the ledger is unreadable.
 * - `head` is written before and after each write of other objects. If another process has changed the ledger, the
 *   first of these writes fails, so the other objects are not overwritten.
 */

import { failure, type LogfleetError } from '../../base/errors.ts';
import { keyText } from '../../base/key-text.ts';
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

/** Size of `head`, in bytes, above which ended attempts are moved to a `log-N` object. */
const flushBytes = maxShardBytes / 4;
const maxLogs = 128;
/** Size of `head`, in bytes, above which the ledger is full and no more upgrades start. */
const fullBytes = 0.75 * maxShardBytes;

/** Ledger object to write. It contains ended attempts, or the collectors of a stage. */
interface NewShard {
  readonly name: string;
  readonly summary: string;
  readonly content: string;
}

export class LedgerFile {
  readonly #store: LedgerStore;
  readonly #owner: OwnerRef;
  readonly #versions = new SparseMap<string, string>();
  /** Encoded text of each entry in `head` that has an open attempt, by collector id. */
  readonly #open = new SparseMap<string, string>();
  readonly #ended = new SparseMap<string, string>();
  readonly #logged = new SparseSet<string>();
  readonly #forgotten = new SparseSet<string>();
  #logs = 0;
  /** Number of `members-STAGE-N` objects for each started stage. These objects contain the collectors of the stage. */
  #memberShards: number[] = [];
  #shardWrites = 0;
  #full = false;

  constructor(store: LedgerStore, owner: OwnerRef) {
    this.#store = store;
    this.#owner = owner;
  }

  /** True if the ledger is too large for further upgrades (U1). */
  get full(): boolean {
    return this.#full;
  }

  /** True if, as far as this process knows, a ledger is stored for this policy. */
  get isWritten(): boolean {
    return this.#versions.has('head');
  }

  /**
   * Reads the stored ledger. Returns undefined if no ledger is stored.
   * @param takeoverMs monotonic time in ms from which the age of each attempt counts
   */
  async load(takeoverMs: number): Promise<Ledger | undefined> {
    const head = await this.#read('head');
    if (!head) return undefined;
    this.#full = Buffer.byteLength(head.content) > fullBytes;
    const { header, entries, forgotten, ...numbers } = decodeHead(head.content, takeoverMs);
    this.#logs = numbers.logs;
    this.#memberShards = [...numbers.memberShards];
    this.#shardWrites = numbers.shardWrites;
    const { logged, members } = await this.#unlessReplaced(head, async () => ({
      logged: await this.#readLogs(header.rolloutId, takeoverMs),
      members: await this.#readMembers(header.rolloutId),
    }));
    for (const { collectorId } of logged) this.#logged.add(collectorId);
    for (const id of forgotten) this.#forgotten.add(id);
    for (const entry of entries) this.#line(entry, header.target);
    const stillLogged = logged.filter(({ collectorId }) => !this.#forgotten.has(collectorId));
    return new Ledger(header, [...stillLogged, ...entries], members);
  }

  /**
   * Stores the ledger. The caller has already applied the changes to it. Throws the error `host.conflict` if another
   * process has changed the stored ledger.
   * @param changes entries that differ from the stored ledger
   * @param started collectors of the stage that starts now; empty if no stage starts
   */
  async save(ledger: Ledger, changes: readonly EntryChange[], started: readonly string[] = []): Promise<void> {
    const { header } = ledger;
    for (const change of changes) this.#note(change, header.target);
    const members = splitMembers(started);
    const head = this.#encode(header);
    const isFlushed = Buffer.byteLength(head) > flushBytes && this.#ended.size > 0 && this.#logs < maxLogs;
    if (members.length > 0 || isFlushed) {
      this.#shardWrites++;
      const stage = (header.stages ?? []).length - 1;
      const shards = [...this.#memberShardsOf(header, members), ...(isFlushed ? [this.#logShard(header)] : [])];
      const before = members.length > 0 ? { ...header, stages: header.stages?.slice(0, stage) ?? [] } : header;
      await this.#writeShards(before, shards);
      if (members.length > 0) this.#memberShards[stage] = members.length;
      if (isFlushed) this.#moveToLog();
    }
    await this.#writeHead(header);
  }

  /** Replaces the ledger entries of the previous rollout with the entries of the new rollout. */
  restart(ledger: Ledger): void {
    this.#open.clear();
    this.#ended.clear();
    this.#logged.clear();
    this.#forgotten.clear();
    this.#logs = 0;
    this.#memberShards = [];
    for (const entry of ledger.entries()) this.#line(entry, ledger.header.target);
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
    const memberShards = (header.stages ?? []).map(({ members }, stage) =>
      members === undefined ? 0 : (this.#memberShards[stage] ?? 0),
    );
    const numbers = { logs: this.#logs, memberShards, shardWrites: this.#shardWrites };
    return encodeHead(header, numbers, this.#open.values(), this.#ended.values(), this.#forgotten);
  }

  async #read(shard: string): Promise<LedgerShard | undefined> {
    const stored = await this.#store.read(this.#owner, shard);
    if (stored) this.#versions.set(shard, stored.version);
    return stored;
  }

  async #readLogs(rolloutId: string, takeoverMs: number): Promise<readonly Entry[]> {
    const names = Array.from({ length: this.#logs }, (_, log) => logName(log));
    const shards = await Promise.all(names.map((name) => this.#read(name)));
    return names.flatMap((name, log) => decodeLog(name, shards[log]?.content, rolloutId, takeoverMs));
  }

  /** Reads the collectors of all started stages, each with the index of its stage. */
  async #readMembers(rolloutId: string): Promise<readonly (readonly [string, number])[]> {
    const read = this.#memberShards.flatMap((shards, stage) =>
      Array.from({ length: shards }, async (_, part) => {
        const name = membersName(stage, part);
        const ids = decodeMembers(name, (await this.#read(name))?.content, rolloutId);
        return ids.map((id) => [id, stage] as const);
      }),
    );
    return (await Promise.all(read)).flat();
  }

  /**
   * Reads the other objects that `head` says are in use. Throws the error `host.conflict` if this fails because `head`
   * has changed in the meantime.
   */
  async #unlessReplaced<T>(head: LedgerShard, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if ((await this.#store.read(this.#owner, 'head'))?.version === head.version) throw error;
      throw changedMeanwhile(this.#owner, error);
    }
  }

  #memberShardsOf(header: LedgerHeader, members: readonly (readonly string[])[]): readonly NewShard[] {
    const { stages = [], rolloutId } = header;
    return members.map((ids, part) => ({
      name: membersName(stages.length - 1, part),
      summary: `rollout ${rolloutId}: ${ids.length} collectors of stage ${stages.at(-1)?.name}`,
      content: encodeMembers(header, this.#shardWrites, ids),
    }));
  }

  #logShard(header: LedgerHeader): NewShard {
    return {
      name: logName(this.#logs),
      summary: summaryOf(header, 0, this.#ended.size),
      content: encodeLog(header, this.#shardWrites, this.#ended.values()),
    };
  }

  #moveToLog(): void {
    for (const id of this.#ended.keys()) this.#logged.add(id);
    this.#ended.clear();
    this.#logs++;
  }

  /**
   * Writes ledger objects other than `head`. An existing object with the same name is overwritten, because `head` does
   * not use it.
   * @param before header that does not use the new objects yet; this header is stored first
   */
  async #writeShards(before: LedgerHeader, shards: readonly NewShard[]): Promise<void> {
    for (const { name } of shards) if (!this.#versions.has(name)) await this.#read(name);
    await this.#writeHead(before);
    for (const { name, content, summary } of shards) await this.#write(name, content, summary);
  }

  async #writeHead(header: LedgerHeader): Promise<void> {
    const content = this.#encode(header);
    this.#full = Buffer.byteLength(content) > fullBytes;
    await this.#write('head', content, summaryOf(header, this.#open.size, this.#ended.size));
  }

  async #write(shard: string, content: string, summary: string): Promise<void> {
    const expected = this.#versions.get(shard);
    this.#versions.set(shard, await this.#store.write(this.#owner, shard, content, expected, summary));
  }
}

function summaryOf({ rolloutId }: LedgerHeader, open: number, ended: number): string {
  return `rollout ${rolloutId}: ${open} upgrades in progress, ${ended} ended`;
}

function changedMeanwhile(owner: OwnerRef, cause: unknown): LogfleetError {
  const message = `The ledger of ${owner.kind} ${keyText(owner)} was changed by another process while logfleet was reading it. logfleet will read the ledger again.`;
  return failure('backoff', 'host.conflict', message, { cause });
}

function logName(log: number): string {
  return `log-${log}`;
}

function membersName(stage: number, part: number): string {
  return `members-${stage}-${part}`;
}
