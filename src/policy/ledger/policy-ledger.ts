/**
 * A policy's ledger (its record of upgrade attempts) in the memory of this process. Each decision stores its changes to
 * the ledger. After a failed write, the caller must call `forget`, because the ledger in memory may then differ from
 * the stored ledger.
 */
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { assert } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import type { Bound } from '../../fleet/fleets.ts';
import type { Ownership } from '../../fleet/ownership.ts';
import type { LedgerStore, OwnerRef } from '../../host/host.ts';
import { type Entry, Ledger, type LedgerChange, type LedgerHeader } from './ledger.ts';
import { LedgerFile } from './ledger-file.ts';
import { type Beginning, nextRollout, rolloutNumber } from './rollout-header.ts';
import {
  adoptFromStatus,
  adoptLostRolloutState,
  adoptRolloutState,
  headerFromStatus,
  shownHistory,
} from './status-recovery.ts';

export interface PolicyLedgerOptions {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly owner: OwnerRef;
}

export class PolicyLedger {
  readonly #options: PolicyLedgerOptions;
  #file: LedgerFile;
  #ledger: Ledger | undefined;
  /** Ledger header that this process stored last. */
  #written: LedgerHeader | undefined;
  /**
   * State of the stored ledger: not read yet, read, or missing. If the ledger is missing, only the status shows which
   * upgrades are running (U1).
   */
  #stored: 'unread' | 'read' | 'missing' = 'unread';

  constructor(options: PolicyLedgerOptions) {
    this.#options = options;
    this.#file = new LedgerFile(options.store, options.owner);
  }

  /** The ledger in memory; undefined until a ledger has been read or a rollout has begun. */
  get known(): Ledger | undefined {
    return this.#ledger;
  }

  /**
   * Reports whether a new rollout must begin: either the target has changed, or the policy's status shows a later
   * rollout than the ledger.
   */
  isBehind({ status }: CollectorVersionPolicy, target: string): boolean {
    const { header } = this.#ledger ?? {};
    return header?.target !== target || rolloutNumber(status?.rollout?.id) > header.rolloutNumber;
  }

  /**
   * Reports whether the stored ledger belongs to this service. Also returns true if the stored ledger is missing. If
   * the ledger must still be read, for example after a failed write, uses the header that this process stored last.
   */
  belongsTo(serviceId: string): boolean {
    if (this.#stored === 'unread') return this.#written?.service === serviceId;
    return this.#ledger ? this.#ledger.header.service === serviceId : this.#stored === 'missing';
  }

  get full(): boolean {
    return this.#file.full;
  }

  get isWritten(): boolean {
    return this.#file.isWritten;
  }

  /** Drops the ledger in memory, so that the next `load` reads the stored ledger again. */
  forget(): void {
    this.#file = new LedgerFile(this.#options.store, this.#options.owner);
    this.#ledger = undefined;
    this.#stored = 'unread';
  }

  /**
   * Reads the stored ledger unless it is in memory.
   * @param neverSent collectors with an upgrade that this process has planned, but never requested
   */
  async load(
    policy: CollectorVersionPolicy,
    { account, ownership }: Bound,
    neverSent: Iterable<string>,
  ): Promise<void> {
    // Task ids are valid only for one service (U1).
    if (this.#ledger && this.#ledger.header.service !== account.serviceId) this.#ledger = undefined;
    if (this.#stored !== 'unread') return;
    const { clock, owner } = this.#options;
    const nowMs = clock.monotonic();
    let ledger = await this.#file.load(nowMs);
    // If no ledger is stored because none was needed, the ledger's header is built from the policy's status (U1).
    const header = ledger ? undefined : headerFromStatus(policy, clock.now());
    if (header) ledger = new Ledger(header);
    this.#stored = ledger ? 'read' : 'missing';
    const unsent = new Set(neverSent);
    ownership.forgetFlights(owner.uid, (id, taskId) => {
      const { open, ending } = ledger?.entry(id) ?? {};
      // The ended attempt may be the upgrade without a task id.
      const isEnded = ending !== undefined && (taskId === undefined || taskId === ending.taskId);
      return open !== undefined || isEnded || unsent.has(id);
    });
    if (ledger?.header.service !== account.serviceId) return;
    ledger.setHeader(adoptRolloutState(policy, ledger.header, this.#written));
    ledger.apply(changesFromStatus(policy, ledger, ownership, nowMs));
    if (!this.#file.isWritten) this.#file.restart(ledger);
    this.#ledger = ledger;
    for (const entry of ledger.open().values()) this.#track(ownership, entry);
  }

  /**
   * Begins a rollout to this target version.
   * @param counts final counts of the previous rollout
   */
  begin(
    policy: CollectorVersionPolicy,
    { account, ownership }: Bound,
    target: string,
    counts: Beginning['counts'],
  ): Ledger {
    const { clock } = this.#options;
    const before = this.#ledger?.header;
    // If the stored ledger belongs to another service, the rollouts in the policy's status may also belong to that
    // service, and are ignored.
    const isReported = before !== undefined || this.#stored === 'missing';
    const shown = isReported ? shownHistory(policy.status, before) : [];
    const beginning = { service: account.serviceId, target, counts, shown, wallMs: clock.now() };
    const next = nextRollout(before, policy.status, beginning);
    const header = isReported ? adoptLostRolloutState(policy, before, next) : next;
    const ledger = this.#ledger ?? new Ledger(header);
    ledger.begin(header);
    if (this.#stored === 'missing') ledger.apply(changesFromStatus(policy, ledger, ownership, clock.monotonic()));
    for (const entry of ledger.open().values()) this.#track(ownership, entry);
    this.#stored = 'read';
    this.#ledger = ledger;
    this.#file.restart(ledger);
    return ledger;
  }

  /**
   * Replaces the ledger header in memory, but does not store the header, because the status shows everything that
   * another process needs (U1).
   */
  note(header: LedgerHeader): void {
    this.#ledger?.setHeader(header);
    this.#file.note(header);
  }

  /** Stores the ledger changes of a decision. */
  async write({ header, changes, started }: LedgerChange, ownership: Ownership): Promise<void> {
    const ledger = this.#ledger;
    assert(ledger !== undefined, 'only a decision about a ledger changes it');
    ledger.setHeader(header, started);
    ledger.apply(changes);
    const adopted = changes.map(({ collectorId }) => [collectorId, ownership.orphan(collectorId)] as const);
    for (const { entry } of changes) if (entry) this.#track(ownership, entry);
    try {
      await this.#file.save(ledger, changes, started);
    } catch (error) {
      // The ledger could not be stored. Running upgrades that the decision took over from the ownership table return to
      // the table, so that the next decision takes them over again.
      for (const [id, orphan] of adopted) if (orphan) ownership.began(id, orphan);
      throw error;
    }
    this.#written = header;
  }

  #track(ownership: Ownership, { collectorId, open }: Entry): void {
    if (!open) return;
    const { toVersion, taskId, sinceMs } = open;
    ownership.began(collectorId, { policy: this.#options.owner.uid, toVersion, taskId, sinceMs });
  }
}

/**
 * Returns the attempts that only the status contains. Leaves out upgrades that are in the ownership table without a
 * policy but with a task id, because the next decision takes them over from this table.
 */
function changesFromStatus({ status }: CollectorVersionPolicy, ledger: Ledger, ownership: Ownership, nowMs: number) {
  const isOrphan = (id: string) => ownership.orphan(id)?.taskId !== undefined;
  return adoptFromStatus(status, ledger, nowMs).filter(({ collectorId }) => !isOrphan(collectorId));
}
