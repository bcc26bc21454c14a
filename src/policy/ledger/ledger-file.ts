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
 *   first of these writes fails, so the other objects are not overwritten. The first write changes nothing else.
 * - A collector's entry in `head` takes precedence over its entries in `log-N`, and a later `log-N` over an earlier one.
 */

import { assert } from '../../base/assert.ts';
import { failure, type LogfleetError } from '../../base/errors.ts';
import { keyText } from '../../base/key-text.ts';
import { SparseMap, SparseSet } from '../../base/sparse.ts';
import { type LedgerShard, type LedgerStore, maxShardBytes, type OwnerRef } from '../../host/host.ts';
import { type EntryChange, Ledger, type LedgerHeader } from './ledger.ts';
import {
  decodeHead,
  decodeLog,
  decodeMembers,
  encodeEntry,
  encodeHead,
  encodeLog,
  encodeMembers,
  encodeRemoval,
  splitItems,
} from './ledger-codec.ts';

/** Size of the ended attempts in `head`, in bytes, above which they are moved to `log-N` objects. */
const flushBytes = maxShardBytes / 4;
const maxLogs = 128;
/** Size of `head`, in bytes, above which the ledger is full and no more upgrades start. */
const fullBytes = 0.75 * maxShardBytes;
/** Number of bytes of `head` that are reserved for the header. */
const headerBytes = maxShardBytes / 16;

/** Encoded change of a ledger entry. */
interface Line {
  readonly collectorId: string;
  /** True if the entry has an open attempt. */
  readonly isOpen: boolean;
  /** Undefined if the entry is removed and is not in a `log-N` object. */
  readonly text: string | undefined;
}

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
  /** Header that is stored, or the header of a new rollout. Undefined until a ledger has been read or begun. */
  #header: LedgerHeader | undefined;
  /** Encoded text of each entry in `head` that has an open attempt, by collector id. */
  readonly #open = new SparseMap<string, string>();
  /** Encoded text of each other entry in `head`, and of each removal of an entry in `log-N`, by collector id. */
  readonly #ended = new SparseMap<string, string>();
  /** Collectors with an entry in `log-N`, unless a later `log-N` removes the entry. */
  readonly #logged = new SparseSet<string>();
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
    const { header, changes, ...numbers } = decodeHead(head.content, takeoverMs);
    this.#header = header;
    this.#logs = numbers.logs;
    this.#memberShards = [...numbers.memberShards];
    this.#shardWrites = numbers.shardWrites;
    const { logged, members } = await this.#unlessReplaced(head, async () => ({
      logged: await this.#readLogs(header.rolloutId, takeoverMs),
      members: await this.#readMembers(header.rolloutId),
    }));
    for (const { collectorId, entry } of logged) this.#noteLogged(collectorId, entry !== undefined);
    for (const change of changes) this.#note(this.#lineOf(change, header.target));
    const ledger = new Ledger(header, [], members);
    ledger.apply([...logged, ...changes]);
    return ledger;
  }

  /**
   * Stores the ledger. The caller has already applied the changes to it. Throws the error `host.conflict` if another
   * process has changed the stored ledger.
   * @param changes entries that differ from the stored ledger
   * @param started collectors of the stage that starts now; empty if no stage starts
   */
  async save(ledger: Ledger, changes: readonly EntryChange[], started: readonly string[] = []): Promise<void> {
    const { header } = ledger;
    const members = splitItems(started.map((id) => JSON.stringify(id)));
    const lines = changes.map((change) => this.#lineOf(change, header.target));
    const isFlushed = this.#logs < maxLogs && this.#isLarge(lines);
    if (members.length === 0 && !isFlushed) for (const line of lines) this.#note(line);
    else await this.#saveShards(header, lines, members, isFlushed);
    await this.#writeHead(header);
    this.#header = header;
  }

  /**
   * Writes the collectors of a stage that starts now. If `isFlushed` is true, also moves ended attempts to `log-N`
   * objects.
   */
  async #saveShards(
    header: LedgerHeader,
    lines: readonly Line[],
    members: readonly (readonly string[])[],
    isFlushed: boolean,
  ): Promise<void> {
    const stored = this.#header;
    assert(stored !== undefined, 'a ledger is read or begun before it is saved');
    this.#shardWrites++;
    const stage = (header.stages ?? []).length - 1;
    // The new `members-STAGE-N` objects may replace those of an earlier start of the stage.
    const { stages = [] } = stored;
    const before = this.#encode(members.length > 0 ? { ...stored, stages: stages.slice(0, stage) } : stored);
    for (const line of lines) this.#note(line);
    const logs = isFlushed ? this.#logShards(header) : [];
    await this.#writeShards(before, [...this.#memberShardsOf(header, members), ...logs]);
    if (members.length > 0) this.#memberShards[stage] = members.length;
    this.#moveToLogs(logs.length);
  }

  /** Replaces the ledger entries of the previous rollout with the entries of the new rollout. */
  restart(ledger: Ledger): void {
    const { header } = ledger;
    this.#header = header;
    this.#open.clear();
    this.#ended.clear();
    this.#logged.clear();
    this.#logs = 0;
    this.#memberShards = [];
    for (const entry of ledger.entries())
      this.#note(this.#lineOf({ collectorId: entry.collectorId, entry }, header.target));
  }

  /** Replaces the header of a ledger that is not stored yet. */
  note(header: LedgerHeader): void {
    if (!this.isWritten) this.#header = header;
  }

  #lineOf({ collectorId, entry }: EntryChange, target: string): Line {
    if (entry) return { collectorId, isOpen: entry.open !== undefined, text: encodeEntry(entry, target) };
    return { collectorId, isOpen: false, text: this.#logged.has(collectorId) ? encodeRemoval(collectorId) : undefined };
  }

  #note({ collectorId, isOpen, text }: Line): void {
    this.#open.delete(collectorId);
    this.#ended.delete(collectorId);
    if (text !== undefined) (isOpen ? this.#open : this.#ended).set(collectorId, text);
  }

  /** Reports whether the ended attempts must move to `log-N` objects before `lines` are added to `head`. */
  #isLarge(lines: readonly Line[]): boolean {
    let ended = bytesOf(this.#ended.values());
    let open = bytesOf(this.#open.values());
    for (const { isOpen, text = '' } of lines) {
      if (isOpen) open += Buffer.byteLength(text);
      else ended += Buffer.byteLength(text);
    }
    return ended > flushBytes || (ended > 0 && ended + open + headerBytes > fullBytes);
  }

  #encode(header: LedgerHeader): string {
    const memberShards = (header.stages ?? []).map(({ members }, stage) =>
      members ? (this.#memberShards[stage] ?? 0) : 0,
    );
    const numbers = { logs: this.#logs, memberShards, shardWrites: this.#shardWrites };
    return encodeHead(header, numbers, this.#open.values(), this.#ended.values());
  }

  async #read(shard: string): Promise<LedgerShard | undefined> {
    const stored = await this.#store.read(this.#owner, shard);
    if (stored) this.#versions.set(shard, stored.version);
    return stored;
  }

  async #readLogs(rolloutId: string, takeoverMs: number): Promise<readonly EntryChange[]> {
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

  /** Returns the new `log-N` objects, which contain the ended attempts from `head`. */
  #logShards(header: LedgerHeader): readonly NewShard[] {
    return splitItems(this.#ended.values()).map((ended, part) => ({
      name: logName(this.#logs + part),
      summary: summaryOf(header, 0, ended.length),
      content: encodeLog(header, this.#shardWrites, ended),
    }));
  }

  /** Notes that the ended attempts from `head` are in `count` new `log-N` objects. */
  #moveToLogs(count: number): void {
    if (count === 0) return;
    for (const [id, text] of this.#ended) this.#noteLogged(id, text !== encodeRemoval(id));
    this.#ended.clear();
    this.#logs += count;
  }

  #noteLogged(collectorId: string, exists: boolean): void {
    if (exists) this.#logged.add(collectorId);
    else this.#logged.delete(collectorId);
  }

  /**
   * Writes ledger objects other than `head`. An existing object with the same name is overwritten, because `head` does
   * not use it.
   * @param before content of `head` that does not use the new objects yet; this content is stored first
   */
  async #writeShards(before: string, shards: readonly NewShard[]): Promise<void> {
    for (const { name } of shards) if (!this.#versions.has(name)) await this.#read(name);
    await this.#write('head', before, 'more objects of this ledger are being written');
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

function bytesOf(texts: Iterable<string>): number {
  let bytes = 0;
  for (const text of texts) bytes += Buffer.byteLength(text);
  return bytes;
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
