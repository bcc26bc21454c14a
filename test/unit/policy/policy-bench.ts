/** One policy with all that `decide` looks at, in memory: rows, ownership, ledger, roster. A case sets it up, then asks. */
import type { CollectorVersionPolicySpec } from '../../../src/api/generated/collector-version-policy.ts';
import { FleetRows } from '../../../src/fleet/fleet-rows.ts';
import { Ownership } from '../../../src/fleet/ownership.ts';
import { type AdmissionInput, admit } from '../../../src/policy/admission.ts';
import type { PostOutcome, TaskReading } from '../../../src/policy/attempt.ts';
import { type Decision, decide, type ListingFacts, type Observation } from '../../../src/policy/decide.ts';
import { Draft } from '../../../src/policy/draft.ts';
import { type Entry, Ledger, type LedgerHeader } from '../../../src/policy/ledger.ts';
import { MaintenanceCalendar } from '../../../src/policy/maintenance-calendar.ts';
import type { Course } from '../../../src/policy/rollout-course.ts';
import { type ListedRows, Roster } from '../../../src/policy/roster.ts';
import type { Collector } from '../../../src/service/upgrade-service.ts';
import { claimant, collector, header, moment, type PolicyParts, policy, settings, spec, target } from './builders.ts';

export const policyUid = 'policy-a';

/** A listing that shows what a case gave it, in pages of 10 rows. */
export class ListedFleet implements ListedRows, ListingFacts {
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

  /** A page that shows these collectors from the first place on. */
  show(seenAtMs: number, collectors: readonly Collector[]): void {
    this.rows.takePage(collectors, seenAtMs, 0);
  }
}

export interface BenchParts {
  readonly spec?: Partial<CollectorVersionPolicySpec>;
  readonly header?: Partial<LedgerHeader>;
  readonly entries?: readonly Entry[];
  readonly collectors?: readonly Collector[];
  /** When the page that shows them was sent. */
  readonly seenAtMs?: number;
}

export class PolicyBench {
  readonly listing = new ListedFleet();
  readonly ownership = new Ownership(() => {});
  readonly ledger: Ledger;
  readonly spec: CollectorVersionPolicySpec;
  roster: Roster;

  constructor({ spec: specParts, header: headerParts, entries = [], collectors = [], seenAtMs = 0 }: BenchParts = {}) {
    this.spec = spec(specParts);
    this.ledger = new Ledger(header(headerParts), entries);
    this.listing.show(seenAtMs, collectors);
    this.ownership.introduce(claimant(policyUid));
    for (const { collectorId, open } of entries) {
      if (!open) continue;
      const { toVersion, taskId, sinceMs } = open;
      this.ownership.began(collectorId, { policy: policyUid, toVersion, taskId, sinceMs });
    }
    this.roster = this.freshRoster();
  }

  freshRoster(): Roster {
    const { listing, ownership, ledger, spec } = this;
    const targetVersion = ledger.header.target;
    const roster = new Roster({ policy: policyUid, spec, targetVersion, listing, ownership, ledger, settings });
    roster.sync();
    return roster;
  }

  draft(): Draft {
    return new Draft(this.ledger, this.roster);
  }
}

/** Collectors 1 to `count`. */
export function fleetOf(count: number, more: (index: number) => Partial<Collector> = () => ({})): readonly Collector[] {
  return Array.from({ length: count }, (_, index) => collector(String(index + 1), more(index)));
}

/** What differs from a quiet moment. */
export type Seen = Partial<Observation> & { readonly nowMs?: number; readonly policy?: PolicyParts };

export function decided(bench: PolicyBench, { nowMs = 1_000, policy: parts, ...observation }: Seen = {}): Decision {
  return decide({
    policy: policy({ ...parts, spec: { ...bench.spec, ...parts?.spec } }),
    ledger: bench.ledger,
    roster: bench.roster,
    observation: {
      listing: bench.listing,
      notOffered: undefined,
      posted: new Map<string, PostOutcome>(),
      tasks: new Map<string, TaskReading>(),
      reads: new Map(),
      flying: new Set(),
      unsent: 0,
      room: 20,
      heldBy: undefined,
      problem: undefined,
      ledgerFull: false,
      typicalMs: undefined,
      limits: { requestsPerSecond: 4, listed: bench.listing.rows.size, pageRows: 1_000 },
      overlap: undefined,
      pausedForAll: undefined,
      ...observation,
    },
    calendar: new MaintenanceCalendar({ ...bench.spec, ...parts?.spec }.maintenance),
    now: moment(nowMs),
    settings,
  });
}

/** What admission makes of it, with the draft that it wrote to. */
export function admitted(bench: PolicyBench, nowMs: number, more: Partial<AdmissionInput> = {}) {
  const draft = bench.draft();
  const admission = admit({
    spec: bench.spec,
    targetVersion: target,
    roster: bench.roster,
    draft,
    attempts: 0,
    room: 20,
    flying: new Set(),
    now: moment(nowMs),
    settings,
    course: quietCourse,
    calendar: new MaintenanceCalendar(bench.spec.maintenance),
    ...more,
  });
  return { ...admission, draft };
}

/** Of a rollout without stages that goes on. */
export const quietCourse: Course = {
  header: header(),
  stages: {
    records: [],
    reached: Number.POSITIVE_INFINITY,
    current: undefined,
    gate: undefined,
    sweepFromMs: undefined,
  },
  isComplete: false,
  excess: undefined,
  untolerated: 0,
  wayBack: undefined,
};
