/**
 * Keeps a policy's ledger in the host's shards (U1). The head is written with every change; what has ended moves to write-once
 * log shards before the head grows too large, so that a write costs the same in the last hour of a rollout as in the first.
 *
 * Invariant: the head is written last, and names the log shards that count. A process that stops in between leaves a log
 * shard that nobody reads, and its lines still in the head. A log shard that is counted and not there was taken away by
 * somebody: the ledger is then not read at all, and a person decides.
 */
import { type LedgerStore, maxShardBytes, type OwnerRef } from '../host/host.ts';
import { type Entry, type EntryChange, Ledger, type LedgerHeader } from './ledger.ts';
import { decodeHead, decodeLog, encodeEntry, encodeHead, encodeLog } from './ledger-codec.ts';

/** From this size on, what has ended moves to a log shard; a quarter of a shard is left for it. */
const flushBytes = maxShardBytes / 2;
const maxLogs = 64;
/** A head of this size has no room for another batch. */
const fullBytes = 1.5 * flushBytes;

export class LedgerFile {
  readonly #store: LedgerStore;
  readonly #owner: OwnerRef;
  readonly #versions = new Map<string, string>();
  /** The lines of the head, as texts: open entries, and ended ones that no log shard has in this form. */
  readonly #open = new Map<string, string>();
  readonly #ended = new Map<string, string>();
  readonly #logged = new Set<string>();
  readonly #forgotten = new Set<string>();
  #logs = 0;
  /** The rollout of the head that stands in the host. */
  #writtenRollout: string | undefined;
  #full = false;

  constructor(store: LedgerStore, owner: OwnerRef) {
    this.#store = store;
    this.#owner = owner;
  }

  /** Whether what was written or read last leaves no room for another batch (U1). */
  get full(): boolean {
    return this.#full;
  }

  /**
   * The ledger as it stands in the host, or undefined where there is none.
   * @param takeoverMs monotonic time from which all ages of this process count
   */
  async load(takeoverMs: number): Promise<Ledger | undefined> {
    const shards = await this.#store.read(this.#owner);
    for (const [name, { version }] of shards) this.#versions.set(name, version);
    const head = shards.get('head');
    if (!head) return undefined;
    this.#full = Buffer.byteLength(head.content) > fullBytes;
    const { header, logs, entries, forgotten } = decodeHead(head.content, takeoverMs);
    const all = new Map<string, Entry>();
    for (let log = 0; log < logs; log++) {
      const name = logName(log);
      for (const entry of decodeLog(name, shards.get(name)?.content, header.rolloutId, takeoverMs)) {
        all.set(entry.collectorId, entry);
        this.#logged.add(entry.collectorId);
      }
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
    return new Ledger(header, all.values());
  }

  /** Makes `changes`, which `ledger` has taken already, durable. Throws `host.conflict` when somebody else wrote. */
  async save(ledger: Ledger, changes: readonly EntryChange[]): Promise<void> {
    const { header } = ledger;
    for (const change of changes) this.#note(change, header.target);
    let head = this.#encode(header);
    if (this.#isFlushDue(head, header)) {
      await this.#flush(header);
      head = this.#encode(header);
    }
    this.#full = Buffer.byteLength(head) > fullBytes;
    await this.#write('head', head);
    this.#writtenRollout = header.rolloutId;
  }

  /** Another rollout begins with this ledger: the lines of the one before no longer count. */
  restart(ledger: Ledger): void {
    this.#open.clear();
    this.#ended.clear();
    this.#logged.clear();
    this.#forgotten.clear();
    this.#logs = 0;
    for (const entry of ledger.entries()) this.#line(entry, ledger.header.target);
  }

  /** Never before the head is of this rollout: until then it may count the very log that would be written over. */
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

  async #flush(header: LedgerHeader): Promise<void> {
    await this.#write(logName(this.#logs), encodeLog(header, this.#ended.values()));
    for (const id of this.#ended.keys()) this.#logged.add(id);
    this.#ended.clear();
    this.#logs++;
  }

  async #write(shard: string, content: string): Promise<void> {
    this.#versions.set(shard, await this.#store.write(this.#owner, shard, content, this.#versions.get(shard)));
  }
}

function logName(log: number): string {
  return `log-${log}`;
}
