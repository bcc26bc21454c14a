/**
 * The ledger of one policy in this process: read once, restarted with each target, written with each decision. Ownership learns of
 * open attempts before the write begins, because other policies decide at the same time (U13).
 *
 * Invariant: after a failed write, memory and host may differ. The caller that sees the failure calls `forget`.
 */
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { assert } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import { LogfleetError } from '../../base/errors.ts';
import type { Flight, Ownership } from '../../fleet/ownership.ts';
import type { LedgerStore, OwnerRef } from '../../host/host.ts';
import type { Bound } from '../service-binding.ts';
import { type Entry, type EntryChange, Ledger, type LedgerChange, type LedgerHeader } from './ledger.ts';
import { LedgerFile } from './ledger-file.ts';
import { headerFromStatus } from './ledger-need.ts';
import { type Beginning, nextRollout, rolloutNumber } from './rollout-header.ts';
import { adoptCourse, adoptFromStatus, adoptLostCourse, shownHistory } from './status-recovery.ts';

export interface KeptLedgerOptions {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly owner: OwnerRef;
}

export class KeptLedger {
  readonly #options: KeptLedgerOptions;
  #file: LedgerFile;
  #ledger: Ledger | undefined;
  /** Header that this process wrote last. The host may have a newer one. */
  #written: LedgerHeader | undefined;
  /** State of the stored ledger. `missing`: the host had no ledger, so only status shows running upgrades (U1). */
  #stored: 'unread' | 'read' | 'missing' = 'unread';

  constructor(options: KeptLedgerOptions) {
    this.#options = options;
    this.#file = new LedgerFile(options.store, options.owner);
  }

  /** The ledger in memory; undefined until a ledger was read or begun. */
  get known(): Ledger | undefined {
    return this.#ledger;
  }

  /**
   * Whether a rollout towards this target must begin: the ledger has another target, or status shows a later rollout than the
   * ledger knows. The second means an old ledger, and the outcome of that later rollout is lost.
   */
  isBehind({ status }: CollectorVersionPolicy, target: string): boolean {
    const { header } = this.#ledger ?? {};
    return header?.target !== target || rolloutNumber(status?.rollout?.id) > header.rolloutNumber;
  }

  /** Whether the stored ledger belongs to this service, or no ledger is stored. */
  tellsOf(serviceId: string): boolean {
    return this.#ledger ? this.#ledger.header.service === serviceId : this.#stored === 'missing';
  }

  /** Whether the ledger has no room for another batch (U1). */
  get full(): boolean {
    return this.#file.full;
  }

  /** Whether the host has a ledger of this policy, as far as this process knows. */
  get isWritten(): boolean {
    return this.#file.isWritten;
  }

  /** Makes the next `load` read the ledger again. */
  forget(): void {
    this.#file = new LedgerFile(this.#options.store, this.#options.owner);
    this.#ledger = undefined;
    this.#stored = 'unread';
  }

  /** Reads the ledger unless it is in memory. Resolves to the problem that a person must solve first, or undefined. */
  async load(policy: CollectorVersionPolicy, { account, ownership }: Bound): Promise<LogfleetError | undefined> {
    // Ids of another service are void (U1).
    if (this.#ledger && this.#ledger.header.service !== account.serviceId) this.#ledger = undefined;
    if (this.#stored !== 'unread') return undefined;
    const { clock, owner } = this.#options;
    const nowMs = clock.monotonic();
    let ledger: Ledger | undefined;
    try {
      ledger = (await this.#file.load(nowMs)) ?? this.#neverWritten(policy);
    } catch (error) {
      if (error instanceof LogfleetError && error.handling.kind === 'stall') return error;
      throw error;
    }
    this.#stored = ledger ? 'read' : 'missing';
    ownership.forgetFlights(owner.uid);
    if (!ledger || ledger.header.service !== account.serviceId) return undefined;
    ledger.setHeader(adoptCourse(policy, ledger.header, this.#written));
    ledger.apply(adoptFromStatus(policy.status, ledger, nowMs));
    if (!this.#file.isWritten) this.#file.restart(ledger);
    this.#ledger = ledger;
    for (const entry of ledger.open().values()) this.#track(ownership, entry);
    return undefined;
  }

  /** Ledger of a policy that has needed none so far; undefined when a ledger was written, or nothing is known of the policy. */
  #neverWritten(policy: CollectorVersionPolicy): Ledger | undefined {
    const header = headerFromStatus(policy, this.#options.clock.now());
    return header && new Ledger(header);
  }

  /**
   * Begins the rollout towards this target.
   * @param counts counts of the rollout that ends now
   */
  begin(
    policy: CollectorVersionPolicy,
    { account, ownership }: Bound,
    target: string,
    counts: Beginning['counts'],
  ): Ledger {
    const { clock } = this.#options;
    const before = this.#ledger?.header;
    // A ledger of another service gives no information, and status may show that service, too.
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

  /** Keeps a decision in memory only, because status shows everything that must be remembered (U1). */
  note(header: LedgerHeader): void {
    this.#ledger?.setHeader(header);
  }

  /** Makes a decision durable. */
  async write({ header, changes, started }: LedgerChange, ownership: Ownership): Promise<void> {
    const ledger = this.#ledger;
    assert(ledger !== undefined, 'only a decision about a ledger changes it');
    ledger.setHeader(header, started);
    ledger.apply(changes);
    const adopted = this.#orphansAmong(changes, ownership);
    for (const { entry } of changes) if (entry) this.#track(ownership, entry);
    try {
      await this.#file.save(ledger, changes, started);
    } catch (error) {
      // An adoption that may not have been written leaves its attempt in flight as before.
      for (const [id, flight] of adopted) ownership.began(id, flight);
      throw error;
    }
    this.#written = header;
  }

  /** Attempts in flight that deleted policies left behind for these collectors. */
  #orphansAmong(changes: readonly EntryChange[], ownership: Ownership): readonly (readonly [string, Flight])[] {
    return changes.flatMap(({ collectorId }) => {
      const orphan = ownership.orphan(collectorId);
      return orphan ? [[collectorId, orphan] as const] : [];
    });
  }

  #track(ownership: Ownership, { collectorId, open }: Entry): void {
    if (!open) return;
    const { toVersion, taskId, sinceMs } = open;
    ownership.began(collectorId, { policy: this.#options.owner.uid, toVersion, taskId, sinceMs });
  }
}
