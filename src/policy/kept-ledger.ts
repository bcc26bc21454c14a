/**
 * The ledger of one policy as this process holds it: read once, begun anew with each target, written with each decision. What it
 * has open is known to ownership from the moment in which it is about to be written, since others decide meanwhile (U13).
 *
 * Invariant: after a write that failed it may not be what stands in the host; whoever sees one fail has it forgotten (`forget`).
 */
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import type { Flight, Ownership } from '../fleet/ownership.ts';
import type { LedgerStore, OwnerRef } from '../host/host.ts';
import { adoptCourse, adoptFromStatus, adoptLostCourse, shownHistory } from './adoption.ts';
import { type Entry, type EntryChange, Ledger, type LedgerHeader } from './ledger.ts';
import { LedgerFile } from './ledger-file.ts';
import { type Beginning, nextRollout, rolloutNumber } from './rollout.ts';
import type { Bound } from './service-binding.ts';

export interface KeptLedgerOptions {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly owner: OwnerRef;
}

export class KeptLedger {
  readonly #options: KeptLedgerOptions;
  #file: LedgerFile;
  #ledger: Ledger | undefined;
  /** As this process wrote it last; what stands in the host may be another since. */
  #written: LedgerHeader | undefined;
  /** `missing`: the host had no ledger, and what status shows as running is all that is known (U1). */
  #stored: 'unread' | 'read' | 'missing' = 'unread';

  constructor(options: KeptLedgerOptions) {
    this.#options = options;
    this.#file = new LedgerFile(options.store, options.owner);
  }

  /** Undefined until one was read or begun. */
  get known(): Ledger | undefined {
    return this.#ledger;
  }

  /**
   * Whether a rollout towards this target has to begin: the ledger has another, or status shows a later one than it knows, since it is of
   * before. What that had come to is on no record of it.
   */
  isBehind({ status }: CollectorVersionPolicy, target: string): boolean {
    const { header } = this.#ledger ?? {};
    return header?.target !== target || rolloutNumber(status?.rollout?.id) > header.rolloutNumber;
  }

  /** Whether the stored ledger is about this service, or none is stored. */
  tellsOf(serviceId: string): boolean {
    return this.#ledger ? this.#ledger.header.service === serviceId : this.#stored === 'missing';
  }

  /** Whether there is no room for another batch (U1). */
  get full(): boolean {
    return this.#file.full;
  }

  /** What stands in the host is to be read anew. */
  forget(): void {
    this.#file = new LedgerFile(this.#options.store, this.#options.owner);
    this.#ledger = undefined;
    this.#stored = 'unread';
  }

  /** Reads it, if that has not been done. Resolves to what a person has to mend before it can be read, if there is something. */
  async load(policy: CollectorVersionPolicy, { account, ownership }: Bound): Promise<LogfleetError | undefined> {
    // Ids of another service are void (U1).
    if (this.#ledger && this.#ledger.header.service !== account.serviceId) this.#ledger = undefined;
    if (this.#stored !== 'unread') return undefined;
    const { clock, owner } = this.#options;
    const nowMs = clock.monotonic();
    let ledger: Ledger | undefined;
    try {
      ledger = await this.#file.load(nowMs);
    } catch (error) {
      if (error instanceof LogfleetError && error.handling.kind === 'stall') return error;
      throw error;
    }
    this.#stored = ledger ? 'read' : 'missing';
    ownership.forgetFlights(owner.uid);
    if (!ledger || ledger.header.service !== account.serviceId) return undefined;
    ledger.setHeader(adoptCourse(policy, ledger.header, this.#written));
    ledger.apply(adoptFromStatus(policy.status, ledger, nowMs));
    this.#ledger = ledger;
    for (const entry of ledger.open().values()) this.#track(ownership, entry);
    return undefined;
  }

  /**
   * Begins the rollout towards this target.
   * @param counts of the rollout that ends with it
   */
  begin(
    policy: CollectorVersionPolicy,
    { account, ownership }: Bound,
    target: string,
    counts: Beginning['counts'],
  ): Ledger {
    const { clock } = this.#options;
    const { broken = 0 } = this.#ledger?.tally() ?? {};
    const before = this.#ledger?.header;
    // A ledger of another service tells nothing, and what status shows may be about that.
    const isTold = before !== undefined || this.#stored === 'missing';
    const shown = isTold ? shownHistory(policy.status, before) : [];
    const beginning = { service: account.serviceId, target, counts, broken, shown, wallMs: clock.now() };
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

  /** Makes a decision durable. */
  async write(header: LedgerHeader, changes: readonly EntryChange[], ownership: Ownership): Promise<void> {
    const ledger = this.#ledger;
    assert(ledger !== undefined, 'only a decision about a ledger changes it');
    ledger.setHeader(header);
    ledger.apply(changes);
    const adopted = this.#orphansAmong(changes, ownership);
    for (const { entry } of changes) if (entry) this.#track(ownership, entry);
    try {
      await this.#file.save(ledger, changes);
    } catch (error) {
      // What was not taken over for sure is as much in flight as before.
      for (const [id, flight] of adopted) ownership.began(id, flight);
      throw error;
    }
    this.#written = header;
  }

  /** What policies that are gone have in flight there. */
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
