/**
 * The ledger of one policy in this process, which is read once, begun again with each rollout, and stored with each decision.
 * New upgrades are entered in the ownership table even before they are stored, because other policies decide at the same time
 * (U13).
 *
 * Invariant: after a failed write, the ledger in memory may differ from the stored one, so the caller calls `forget`.
 */
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { assert } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import type { Ownership } from '../../fleet/ownership.ts';
import type { LedgerStore, OwnerRef } from '../../host/host.ts';
import type { Bound } from '../service-binding.ts';
import { type Entry, Ledger, type LedgerChange, type LedgerHeader } from './ledger.ts';
import { LedgerFile } from './ledger-file.ts';
import { type Beginning, nextRollout, rolloutNumber } from './rollout-header.ts';
import { adoptCourse, adoptFromStatus, adoptLostCourse, headerFromStatus, shownHistory } from './status-recovery.ts';

export interface KeptLedgerOptions {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly owner: OwnerRef;
}

export class KeptLedger {
  readonly #options: KeptLedgerOptions;
  #file: LedgerFile;
  #ledger: Ledger | undefined;
  /** Ledger header that this process stored last. Another process may have stored a newer header since then. */
  #written: LedgerHeader | undefined;
  /** State of the stored ledger. `missing`: no ledger is stored, so only the policy's status shows running upgrades (U1). */
  #stored: 'unread' | 'read' | 'missing' = 'unread';

  constructor(options: KeptLedgerOptions) {
    this.#options = options;
    this.#file = new LedgerFile(options.store, options.owner);
  }

  /** The ledger in memory; undefined until a stored ledger was read or a rollout began. */
  get known(): Ledger | undefined {
    return this.#ledger;
  }

  /**
   * Whether a new rollout must begin: the policy has a new target, or the ledger was restored from a backup and lacks a later
   * rollout that the policy's status shows.
   */
  isBehind({ status }: CollectorVersionPolicy, target: string): boolean {
    const { header } = this.#ledger ?? {};
    return header?.target !== target || rolloutNumber(status?.rollout?.id) > header.rolloutNumber;
  }

  /** Whether the stored ledger belongs to this service. Also true if no ledger is stored. */
  tellsOf(serviceId: string): boolean {
    return this.#ledger ? this.#ledger.header.service === serviceId : this.#stored === 'missing';
  }

  get full(): boolean {
    return this.#file.full;
  }

  get isWritten(): boolean {
    return this.#file.isWritten;
  }

  /** Makes the next `load` read the stored ledger again. */
  forget(): void {
    this.#file = new LedgerFile(this.#options.store, this.#options.owner);
    this.#ledger = undefined;
    this.#stored = 'unread';
  }

  /** Reads the stored ledger unless it is already in memory. */
  async load(policy: CollectorVersionPolicy, { account, ownership }: Bound): Promise<void> {
    // Task ids are valid for one service only, so a ledger that belongs to another service is not used (U1).
    if (this.#ledger && this.#ledger.header.service !== account.serviceId) this.#ledger = undefined;
    if (this.#stored !== 'unread') return;
    const { clock, owner } = this.#options;
    const nowMs = clock.monotonic();
    let ledger = await this.#file.load(nowMs);
    // If status says that the policy has needed no ledger so far, status contains all facts about the rollout (U1).
    const header = ledger ? undefined : headerFromStatus(policy, clock.now());
    if (header) ledger = new Ledger(header);
    this.#stored = ledger ? 'read' : 'missing';
    ownership.forgetFlights(owner.uid);
    if (ledger?.header.service !== account.serviceId) return;
    ledger.setHeader(adoptCourse(policy, ledger.header, this.#written));
    ledger.apply(adoptFromStatus(policy.status, ledger, nowMs));
    if (!this.#file.isWritten) this.#file.restart(ledger);
    this.#ledger = ledger;
    for (const entry of ledger.open().values()) this.#track(ownership, entry);
  }

  /**
   * Begins a rollout towards this target version in the ledger.
   * @param counts final counts of the previous rollout, which ends now
   */
  begin(
    policy: CollectorVersionPolicy,
    { account, ownership }: Bound,
    target: string,
    counts: Beginning['counts'],
  ): Ledger {
    const { clock } = this.#options;
    const before = this.#ledger?.header;
    // If the previous ledger belongs to another service, the ended rollouts in status may also belong to that service.
    const isTold = before !== undefined || this.#stored === 'missing';
    const shown = isTold ? shownHistory(policy.status, before) : [];
    const beginning = { service: account.serviceId, target, counts, shown, wallMs: clock.now() };
    const next = nextRollout(before, policy.status, beginning);
    const header = isTold ? adoptLostCourse(policy, before, next) : next;
    const ledger = this.#ledger ?? new Ledger(header);
    ledger.begin(header);
    if (this.#stored === 'missing') ledger.apply(adoptFromStatus(policy.status, ledger, clock.monotonic()));
    for (const entry of ledger.open().values()) this.#track(ownership, entry);
    this.#stored = 'read';
    this.#ledger = ledger;
    this.#file.restart(ledger);
    return ledger;
  }

  /**
   * Replaces the ledger header without storing it. This is enough if the policy's status shows all that a later process needs
   * (U1).
   */
  note(header: LedgerHeader): void {
    this.#ledger?.setHeader(header);
  }

  /** Stores the changes of a decision in the ledger. */
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
      // After a failed write, the stored ledger may lack upgrades that this policy took over from deleted policies. The
      // ownership table assigns them to the deleted policies again, so that a later decision repeats the takeover.
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
