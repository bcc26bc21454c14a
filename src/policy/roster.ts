/**
 * The members of a policy and how each stands: an index over listing, ledger and ownership, brought up to date by what changed
 * instead of by looking at everybody, so that the cost of a rollout grows with its collectors and not with their square.
 *
 * Invariant: `counts` and `versions` are what classifying every member anew would give (held by a property test).
 */
import type { CollectorVersionPolicySpec } from '../api/generated/collector-version-policy.ts';
import { compareBuildVersions, parseBuildVersion } from '../base/build-version.ts';
import type { FleetListing } from '../fleet/fleet-listing.ts';
import type { Row } from '../fleet/fleet-rows.ts';
import type { Flight, Ownership } from '../fleet/ownership.ts';
import type { Entry, Ledger } from './ledger.ts';
import { compileSelection, type Matcher, nameSelection } from './selector.ts';
import type { PolicySettings } from './settings.ts';
import { type SkipReason, type Standing, type StandingContext, skipReason, standingOf } from './standing.ts';

export type Counts = { readonly [S in Standing]: number };

type MutableCounts = { [S in Standing]: number };

/** What a roster needs of the shared listing. */
export type ListedRows = Pick<FleetListing, 'rows' | 'row' | 'placeOf' | 'orderRevision' | 'observes'>;

export interface RosterOptions {
  readonly policy: string;
  readonly spec: CollectorVersionPolicySpec;
  readonly targetVersion: string;
  readonly listing: ListedRows;
  readonly ownership: Ownership;
  readonly ledger: Ledger;
  readonly settings: PolicySettings;
}

interface Member {
  readonly standing: Standing;
  readonly version: string | undefined;
  /** Whether the selection has it; false of one that is here only for as long as an attempt is open. */
  readonly selected: boolean;
}

/** Standings whose members are looked at one by one; the two large ones are not listed. */
type ListedStanding = Exclude<Standing, 'updated' | 'pending'>;

export class Roster {
  readonly #options: RosterOptions;
  readonly #matches: Matcher;
  readonly #context: StandingContext;
  /** Names the selection; another one has another name. */
  readonly selection: string;
  /** Whether the ledger's attempts were made for another selection than this. */
  readonly isReselected: boolean;
  readonly #members = new Map<string, Member>();
  readonly #counts: MutableCounts = emptyCounts();
  readonly #versions = new Map<string, number>();
  readonly #listed: { readonly [S in ListedStanding]: Set<string> } = {
    inProgress: new Set(),
    retrying: new Set(),
    drifting: new Set(),
    failed: new Set(),
    offline: new Set(),
    newer: new Set(),
    skipped: new Set(),
    foreign: new Set(),
  };
  /** Who was seen off the target after having been at it: when first, as the time of the listing's sending (U8). */
  readonly #drifts = new Map<string, number>();
  /** Whose row says otherwise than how the last attempt ended: the same row, seen later, decides (U6, U8). */
  readonly #contradicted = new Set<string>();
  #revision = -1;
  #orderRevision = -1;
  #order: string[] = [];
  #orderStart = 0;
  #orderStale = true;
  /** Who became pending again since the order was made. */
  readonly #returned = new Set<string>();

  constructor(options: RosterOptions) {
    this.#options = options;
    const { spec, targetVersion, settings, ledger } = options;
    this.#matches = compileSelection(spec.selector, spec.exclude);
    this.selection = nameSelection(spec);
    this.isReselected = (ledger.header.selection ?? this.selection) !== this.selection;
    this.#context = {
      targetVersion,
      target: parseBuildVersion(targetVersion),
      allowDowngrade: spec.allowDowngrade,
      retryLimit: spec.retryPolicy.limit,
      settings,
    };
  }

  get counts(): Counts {
    return this.#counts;
  }

  get matched(): number {
    return this.#members.size;
  }

  ids(): IterableIterator<string> {
    return this.#members.keys();
  }

  get versions(): ReadonlyMap<string, number> {
    return this.#versions;
  }

  get context(): StandingContext {
    return this.#context;
  }

  /** Brings the roster up to what listing and ownership say now. */
  sync(): void {
    const { listing, ownership, policy } = this.#options;
    this.claimNew();
    // A newer sign of life is no change of a row, and still the end of being offline.
    for (const id of [...this.#listed.offline, ...this.#contradicted]) this.place(id);
    for (const id of ownership.takeChanged(policy)) this.place(id);
    if (listing.orderRevision() !== this.#orderRevision) {
      this.#orderRevision = listing.orderRevision();
      this.#orderStale = true;
    }
  }

  /** Looks at those alone whose rows have changed, so that it claims who is new (U13). */
  claimNew(): void {
    const { listing, ledger } = this.#options;
    const { revision } = listing.rows;
    if (revision === this.#revision) return;
    const changed = this.#revision < 0 ? undefined : listing.rows.changesSince(this.#revision);
    this.#revision = revision;
    if (changed) {
      for (const id of changed) this.place(id);
      return;
    }
    for (const [id] of listing.rows.entries()) this.place(id);
    for (const { collectorId } of ledger.entries()) this.place(collectorId);
    for (const id of [...this.#members.keys()]) this.place(id);
  }

  /** Looks at one collector again: its row, its entry or its owner changed. */
  place(id: string): void {
    const { listing, ledger, ownership, policy } = this.#options;
    const row = listing.row(id);
    const entry = ledger.entry(id);
    const before = this.#members.get(id);
    const selected = row ? this.#selects(row, entry, before) : this.#isUnseenMember(entry);
    if (!selected && !entry?.open) {
      this.#remove(id);
      ownership.unclaim(policy, id);
      return;
    }
    ownership.claim(policy, id);
    if (row) this.#noteDrift(id, row, entry, before?.standing);
    const standing = this.standing(id, entry);
    const version = row?.collector.collectorVersion || undefined;
    const contradicts = entry?.ending && (version === this.#context.targetVersion) !== (standing === 'updated');
    if (contradicts || this.#isNews(id, row)) this.#contradicted.add(id);
    else this.#contradicted.delete(id);
    if (before?.standing === standing && before.version === version && before.selected === selected) return;
    if (before) this.#uncount(id, before);
    this.#members.set(id, { standing, version, selected });
    this.#count(id, standing, version);
  }

  /** How a member would stand with this entry. Reads only. */
  standing(id: string, entry: Entry | undefined): Standing {
    return standingOf(this.#input(id, entry), this.#context);
  }

  standingNow(id: string): Standing | undefined {
    return this.#members.get(id)?.standing;
  }

  /** Whether it is a member by the selection as it is now, and not for an open attempt alone. */
  selects(id: string): boolean {
    return this.#members.get(id)?.selected ?? false;
  }

  /** The version that a member is counted by in `versions`; undefined where no listing shows one. */
  versionNow(id: string): string | undefined {
    return this.#members.get(id)?.version;
  }

  skipReason(id: string, entry: Entry | undefined): SkipReason | undefined {
    return skipReason(this.#input(id, entry), this.#context);
  }

  row(id: string): Row | undefined {
    return this.#options.listing.row(id);
  }

  members(standing: ListedStanding): ReadonlySet<string> {
    return this.#listed[standing];
  }

  /** When a drifting collector was first seen off the target, or undefined. */
  driftingSinceMs(id: string): number | undefined {
    return this.#drifts.get(id);
  }

  /** Pending members in the order of the strategy; within a version in the list's order (U9). */
  *pending(): IterableIterator<string> {
    if (this.#orderStale) this.#sort();
    for (const id of this.#returned) {
      if (this.#isPending(id)) yield id;
      else this.#returned.delete(id);
    }
    while (this.#orderStart < this.#order.length && !this.#isPending(this.#order[this.#orderStart] as string)) {
      this.#orderStart++;
    }
    for (let index = this.#orderStart; index < this.#order.length; index++) {
      const id = this.#order[index] as string;
      if (this.#isPending(id) && !this.#returned.has(id)) yield id;
    }
  }

  owns(id: string): boolean {
    return this.#options.ownership.owner(id)?.uid === this.#options.policy;
  }

  /** What is in flight for this collector although the policy that began it is gone. */
  orphan(id: string): Flight | undefined {
    return this.#options.ownership.orphan(id);
  }

  #isPending(id: string): boolean {
    return this.#members.get(id)?.standing === 'pending';
  }

  /**
   * Who has an attempt of this rollout stays, whatever its fields become (U12). Only another selection leaves it out, if that
   * would not have had it before its attempt, either.
   */
  #selects({ collector }: Row, entry: Entry | undefined, before: Member | undefined): boolean {
    if (this.#matches(collector)) return true;
    if (!entry) return false;
    if (before || !this.isReselected) return before?.selected ?? true;
    return this.#matches({ ...collector, collectorVersion: entry.before });
  }

  /** Without a row: while an attempt is open, or where listings cannot show who is at the target (U7). Else it is gone. */
  #isUnseenMember(entry: Entry | undefined): boolean {
    if (!entry) return false;
    return entry.open !== undefined || !this.#options.listing.observes(this.#context.targetVersion);
  }

  #input(id: string, entry: Entry | undefined) {
    const { listing, ownership, policy } = this.#options;
    const flight = ownership.flight(id);
    const row = listing.row(id);
    return {
      row,
      entry,
      owned: this.owns(id),
      awaited: this.#options.ownership.first(id)?.uid === policy,
      busyElsewhere: (flight !== undefined && flight.policy !== policy) || this.#isNews(id, row),
      drifted: this.#drifts.has(id),
    };
  }

  /** Whether another policy's upgrade ended after this row was seen, or too shortly before for lists to show it (U8, U13). */
  #isNews(id: string, row: Row | undefined): boolean {
    const { ownership, policy, settings } = this.#options;
    const landedMs = ownership.landedMs(id, policy);
    return landedMs !== undefined && row !== undefined && row.seenAtMs < landedMs + settings.graceMs;
  }

  #noteDrift(id: string, row: Row, entry: Entry | undefined, standing: Standing | undefined): void {
    const version = row.collector.collectorVersion;
    if (version === this.#context.targetVersion || entry?.open) {
      this.#drifts.delete(id);
      return;
    }
    if (this.#drifts.has(id)) return;
    const ending = entry?.ending;
    const after = ending?.kind === 'updated' ? ending.sinceMs + this.#options.settings.graceMs : 0;
    const wasThere = standing === 'updated' || ending?.kind === 'updated';
    if (wasThere && row.seenAtMs >= after) this.#drifts.set(id, row.seenAtMs);
  }

  #remove(id: string): void {
    const member = this.#members.get(id);
    if (!member) return;
    this.#uncount(id, member);
    this.#members.delete(id);
    this.#drifts.delete(id);
    this.#contradicted.delete(id);
    this.#returned.delete(id);
  }

  #count(id: string, standing: Standing, version: string | undefined): void {
    this.#counts[standing]++;
    if (version !== undefined) this.#versions.set(version, (this.#versions.get(version) ?? 0) + 1);
    if (standing === 'pending') {
      if (!this.#orderStale) this.#returned.add(id);
    } else if (standing !== 'updated') {
      this.#listed[standing].add(id);
    }
  }

  #uncount(id: string, { standing, version }: Member): void {
    this.#counts[standing]--;
    if (version !== undefined) {
      const left = (this.#versions.get(version) ?? 1) - 1;
      if (left === 0) this.#versions.delete(version);
      else this.#versions.set(version, left);
    }
    if (standing !== 'pending' && standing !== 'updated') this.#listed[standing].delete(id);
  }

  #sort(): void {
    const { listing, spec } = this.#options;
    const { order } = spec.strategy;
    const rank = rankVersions(this.#versions.keys(), order);
    const keys: SortKey[] = [];
    for (const [id, { standing, version }] of this.#members) {
      if (standing !== 'pending') continue;
      const name = order === 'Name' ? (listing.row(id)?.collector.name ?? '') : '';
      keys.push({ id, rank: rank.get(version ?? '') ?? 0, name, place: listing.placeOf(id) });
    }
    this.#order = keys.sort(compareKeys).map(({ id }) => id);
    this.#orderStart = 0;
    this.#orderStale = false;
    this.#returned.clear();
  }
}

interface SortKey {
  readonly id: string;
  readonly rank: number;
  readonly name: string;
  readonly place: number;
}

function compareKeys(left: SortKey, right: SortKey): number {
  return (
    left.rank - right.rank ||
    compareText(left.name, right.name) ||
    left.place - right.place ||
    compareText(left.id, right.id)
  );
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Whether everything that decides standings and order is the same, so that a roster can be kept. */
export function sameSelection(left: CollectorVersionPolicySpec, right: CollectorVersionPolicySpec): boolean {
  return (
    left.allowDowngrade === right.allowDowngrade &&
    left.retryPolicy.limit === right.retryPolicy.limit &&
    left.strategy.order === right.strategy.order &&
    JSON.stringify([left.selector, left.exclude]) === JSON.stringify([right.selector, right.exclude])
  );
}

function rankVersions(
  versions: Iterable<string>,
  order: CollectorVersionPolicySpec['strategy']['order'],
): ReadonlyMap<string, number> {
  if (order === 'Name') return new Map();
  const sign = order === 'OldestVersionFirst' ? 1 : -1;
  const sorted = [...versions].sort((left, right) => {
    const leftVersion = parseBuildVersion(left);
    const rightVersion = parseBuildVersion(right);
    if (!leftVersion || !rightVersion) return leftVersion ? -1 : rightVersion ? 1 : 0;
    return sign * compareBuildVersions(leftVersion, rightVersion);
  });
  return new Map(sorted.map((version, index) => [version, index]));
}

function emptyCounts(): MutableCounts {
  return {
    updated: 0,
    inProgress: 0,
    pending: 0,
    retrying: 0,
    drifting: 0,
    failed: 0,
    offline: 0,
    newer: 0,
    skipped: 0,
    foreign: 0,
  };
}
