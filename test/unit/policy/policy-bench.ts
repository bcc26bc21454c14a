/**
 * Helpers for testing `decide`, which chooses the next actions for a policy. They keep one policy in memory, with
 * everything that `decide` needs.
 */
import type { CollectorVersionPolicySpec } from '../../../src/api/generated/collector-version-policy.ts';
import { assert } from '../../../src/base/assert.ts';
import type { FleetListing } from '../../../src/fleet/fleet-listing.ts';
import { FleetRows } from '../../../src/fleet/fleet-rows.ts';
import { Ownership } from '../../../src/fleet/ownership.ts';
import { admit } from '../../../src/policy/admission/admission.ts';
import type { PostOutcome } from '../../../src/policy/attempts/attempt.ts';
import type { Decision, FiguresNow } from '../../../src/policy/decide.ts';
import { type Entry, Ledger, type LedgerChange, type LedgerHeader } from '../../../src/policy/ledger/ledger.ts';
import { ClaimedMembers } from '../../../src/policy/members/member-index-cache.ts';
import { PendingChanges } from '../../../src/policy/members/pending-changes.ts';
import type { ListedRows, PolicyMemberIndex } from '../../../src/policy/members/policy-member-index.ts';
import type { DecideInput, ListingView, Observation } from '../../../src/policy/rollout/decide-input.ts';
import type { RolloutState } from '../../../src/policy/rollout/rollout-state.ts';
import { MaintenanceCalendar, type WindowsNow } from '../../../src/policy/schedule/maintenance-calendar.ts';
import type { Collector } from '../../../src/service/collectors/upgrade-service.ts';
import { checkedDecide } from '../../support/pure-decide.ts';
import { claimant, collector, header, moment, type PolicyParts, policy, settings, spec, target } from './builders.ts';

export const policyUid = 'policy-a';

/** Collector list, set by the test, in pages of 10 rows. */
class ListedFleet implements ListedRows, ListingView, Pick<FleetListing, 'rows'> {
  readonly rows = new FleetRows();
  readonly pagesReadMs = new Map<number, number>();
  isObservable = true;
  sweptMs: number | undefined = 0;
  lastSweepMs = 100;
  readonly pageRows = 10;

  row(id: string) {
    return this.rows.get(id);
  }

  orderRevision(): number {
    return this.rows.orderRevision;
  }

  placeOf(id: string): number {
    const position = this.row(id)?.position ?? -1;
    return position < 0 ? Number.MAX_SAFE_INTEGER : position;
  }

  pageOf(id: string): number | undefined {
    const position = this.row(id)?.position ?? -1;
    return position < 0 ? undefined : Math.floor(position / this.pageRows);
  }

  pageReadMs(page: number): number | undefined {
    return this.pagesReadMs.get(page);
  }

  observes(_version: string): boolean {
    return this.isObservable;
  }

  completeSinceMs(): number | undefined {
    return this.sweptMs;
  }

  sweepMs(): number {
    return this.lastSweepMs;
  }

  /**
   * Replaces the first rows of the collector list with these collectors, as if the operator had read them at
   * `seenAtMs`.
   */
  show(seenAtMs: number, collectors: readonly Collector[]): void {
    this.rows.takePage(collectors, seenAtMs, 0);
  }
}

export interface BenchParts {
  readonly spec?: Partial<CollectorVersionPolicySpec>;
  readonly header?: Partial<LedgerHeader>;
  readonly entries?: readonly Entry[];
  /** Collectors of the started stages, by stage name. */
  readonly members?: Readonly<Record<string, readonly string[]>>;
  readonly collectors?: readonly Collector[];
  /** Time in ms at which the operator requested the list that shows `collectors`. */
  readonly seenAtMs?: number;
}

export class PolicyBench {
  readonly listing = new ListedFleet();
  readonly ownership = new Ownership(() => {});
  readonly ledger: Ledger;
  readonly spec: CollectorVersionPolicySpec;
  #members: ClaimedMembers;

  constructor(parts: BenchParts = {}) {
    const { spec: specParts, header: headerParts, entries = [], members = {}, collectors = [], seenAtMs = 0 } = parts;
    this.spec = spec(specParts);
    const listed = Object.entries(members);
    const stages = headerParts?.stages?.map((one) => {
      const ids = members[one.name];
      return ids ? { ...one, members: ids.length } : one;
    });
    const indexOf = (stage: string) => stages?.findIndex(({ name }) => name === stage) ?? -1;
    const started = listed.filter(([stage]) => indexOf(stage) >= 0);
    const places = started.flatMap(([stage, ids]) => ids.map((id) => [id, indexOf(stage)] as const));
    this.ledger = new Ledger(header({ ...headerParts, ...(stages && { stages }) }), entries, places);
    this.listing.show(seenAtMs, collectors);
    this.ownership.register(claimant(policyUid));
    for (const { collectorId, open } of entries) {
      if (!open) continue;
      const { toVersion, taskId, sinceMs } = open;
      this.ownership.began(collectorId, { policy: policyUid, toVersion, taskId, sinceMs });
    }
    this.#members = this.freshMembers();
  }

  get memberIndex(): PolicyMemberIndex {
    return this.#members.index;
  }

  sync(): void {
    this.#members.sync();
  }

  claimNew(): void {
    this.#members.claimNew();
  }

  place(id: string): void {
    this.#members.update(id);
  }

  rebuild(): void {
    this.#members = this.freshMembers();
  }

  freshMembers(): ClaimedMembers {
    const { listing, ownership, ledger, spec } = this;
    const members = new ClaimedMembers({
      policy: policyUid,
      spec,
      listing,
      ownership,
      ledger,
      settings,
    });
    members.sync();
    return members;
  }

  /** Applies a decision's changes, as if they had been written to the ledger. */
  write({ header, changes, started }: LedgerChange): void {
    this.ledger.setHeader(header, started);
    this.ledger.apply(changes);
    for (const { collectorId, entry } of changes) {
      if (!entry?.open) this.ownership.ended(collectorId, policyUid, 1_000);
      this.place(collectorId);
    }
    this.sync();
  }

  pending(): PendingChanges {
    return new PendingChanges(this.ledger, this.memberIndex);
  }
}

export function fleetOf(count: number, more: (index: number) => Partial<Collector> = () => ({})): readonly Collector[] {
  return Array.from({ length: count }, (_, index) => collector(String(index + 1), more(index)));
}

/** Returns a fleet whose collectors all run the target version. */
export const updatedFleet = (count: number) => fleetOf(count, () => ({ collectorVersion: target }));

/** Returns the collectors for which a decision or an admission requests an upgrade. */
export function posts({ post }: Pick<Decision, 'post'>): readonly string[] {
  return post.map(({ collectorId }) => collectorId);
}

/** Inputs to `decide` that a test changes. */
export type ChangedInput = Partial<Observation> & { readonly nowMs?: number; readonly policy?: PolicyParts };

export type DecidedWithFigures = Decision & { readonly figures: FiguresNow };

export function decided(bench: PolicyBench, seen: ChangedInput = {}): DecidedWithFigures {
  const { figures, ...decision } = checkedDecide(inputOf(bench, seen));
  assert(figures !== undefined, 'the counts are due');
  return { ...decision, figures };
}

/** Returns the input of `decide` for the policy at `nowMs`. */
export function inputOf(
  bench: PolicyBench,
  { nowMs = 1_000, policy: parts, ...observation }: ChangedInput = {},
): DecideInput {
  return {
    policy: policy({ ...parts, spec: { ...bench.spec, ...parts?.spec } }),
    ledger: bench.ledger,
    memberIndex: bench.memberIndex,
    observation: {
      listing: bench.listing,
      notOffered: undefined,
      posted: new Map<string, PostOutcome>(),
      tasks: new Map(),
      reads: new Map(),
      messages: undefined,
      inFlight: new Set(),
      rejected: new Set(),
      unsent: 0,
      batchCapacity: 20,
      heldBy: undefined,
      problem: undefined,
      ledgerFull: false,
      isLedgerWritten: true,
      typicalMs: undefined,
      areFiguresDue: true,
      overlap: undefined,
      pausedForAll: undefined,
      ...observation,
    },
    windows: windowsOf({ ...bench.spec, ...parts?.spec }, bench.memberIndex, nowMs),
    now: moment(nowMs),
    settings,
  };
}

export function windowsOf(
  { maintenance }: Pick<CollectorVersionPolicySpec, 'maintenance'>,
  memberIndex: PolicyMemberIndex,
  nowMs: number,
): WindowsNow {
  return new MaintenanceCalendar(maintenance).at(moment(nowMs).wallMs, memberIndex.timeZones());
}

/** Returns the upgrades that start next, with the changes to the ledger. */
export function admitted(bench: PolicyBench, nowMs: number, { attempts, state = quietState, ...seen }: Admitted = {}) {
  const pending = bench.pending();
  if (attempts !== undefined) bench.ledger.setHeader({ ...bench.ledger.header, attempts });
  return { ...admit({ ...inputOf(bench, { nowMs, ...seen }), pending, state }), pending };
}

/** Inputs to admission that a test changes. */
type Admitted = ChangedInput & { readonly attempts?: number; readonly state?: RolloutState };

export const quietState: RolloutState = {
  header: header(),
  current: undefined,
  isLastStarted: true,
  excess: undefined,
  failedNow: undefined,
  untolerated: 0,
  rollback: undefined,
  recovery: undefined,
};
