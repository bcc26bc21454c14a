/**
 * Index of a policy's collectors and their states. A change updates only the affected collectors, so decisions about
 * large policies stay fast.
 *
 * Invariant: `counts` always equals a recount of all collectors (checked by a property test).
 */
import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import { parseBuildVersion } from '../../base/build-version.ts';
import { type SetView, SparseMap, SparseSet, SparseSets } from '../../base/sparse.ts';
import { timeZone } from '../../base/time-zone.ts';
import type { FleetListing } from '../../fleet/fleet-listing.ts';
import { countVersions, type Row } from '../../fleet/fleet-rows.ts';
import type { EndedUpgrade, Flight, Ownership } from '../../fleet/ownership.ts';
import type { PolicySettings } from '../attempts/settings.ts';
import type { Entry, Ledger } from '../ledger/ledger.ts';
import { opensByCollector } from '../schedule/maintenance-calendar.ts';
import {
  driftSinceMs,
  type MemberContext,
  type MemberState,
  memberStateOf,
  notesOf,
  type RowNote,
  rowNotes,
  type SkipReason,
  skipReason,
} from './member-state.ts';
import { type PendingMember, PendingOrder } from './pending-order.ts';
import { compileSelection, type Matcher, nameSelection } from './selector.ts';
import { catchAllStage, laterStage, noStage, type StageCandidate, waitingStages } from './stages.ts';
import { type Counts, emptyCounts, type MutableCounts } from './state-counts.ts';

export type ListedRows = Pick<FleetListing, 'row' | 'placeOf' | 'orderRevision' | 'observes'>;

export interface MemberIndexOptions {
  readonly policy: string;
  readonly spec: CollectorVersionPolicySpec;
  readonly listing: ListedRows;
  /** Read-only part of the ownership table: the owners of collectors, and running upgrades. */
  readonly ownership: Pick<Ownership, 'owner' | 'first' | 'flight' | 'orphan' | 'otherUpgrade'>;
  readonly ledger: Pick<Ledger, 'header' | 'entry' | 'listedIn'>;
  readonly settings: PolicySettings;
}

export interface Member {
  readonly memberState: MemberState;
  /** Version of the collector, if the service's list shows it. */
  readonly version: string | undefined;
  /**
   * True if the policy's selector matches the collector. A collector that does not match is kept only until its upgrade
   * has ended.
   */
  readonly selected: boolean;
  readonly stage: number;
}

/**
 * Whether a collector belongs to a policy, and why.
 * - `selected`: the policy's selector matches the collector.
 * - `kept`: an upgrade of the collector has not ended.
 * - `none`: the collector does not belong to the policy.
 */
export type Membership = 'selected' | 'kept' | 'none';

/** States for which the index lists the collectors. Collectors in other states are only counted. */
type ListedState = Exclude<MemberState, 'updated' | 'pending'>;

/** Read-only view of the index of collectors, as used by decisions. */
export type MemberView = Omit<
  PolicyMemberIndex,
  'matches' | 'membershipOf' | 'noteStages' | 'place' | 'sortPending' | 'timeZones' | 'unfinished'
>;

export class PolicyMemberIndex {
  readonly #options: MemberIndexOptions;
  /** Reports whether the policy selects a collector. */
  readonly matches: Matcher;
  readonly context: MemberContext;
  /** Digest of the policy's selector and exclusions. */
  readonly selection: string;
  /** True if the policy's selector has changed since the upgrades in the ledger were started. */
  readonly isReselected: boolean;
  readonly #members = new Map<string, Member>();
  readonly #memberOf = (id: string) => this.#members.get(id);
  readonly #counts: MutableCounts = emptyCounts();
  readonly #opensByCollector: boolean;
  readonly #zones = new SparseSet<string>();
  /** For each stage index, the number of collectors in each state. Empty if the policy has no stages. */
  readonly #stageCounts = new SparseMap<number, MutableCounts>();
  /** For each stage that has not started, a function that reports whether the stage may choose a collector. */
  #stageFilters: readonly ((row: Row | undefined) => boolean)[] = [];
  /** Stage index of the collectors that no started stage has chosen. */
  #unlisted = noStage;
  #started = -1;
  /** Pending collectors in the order of their upgrades. Undefined until they are sorted. */
  #order: PendingOrder | undefined;
  /** Revision of the service's list when the collectors were last sorted. */
  #orderRevision = -1;
  readonly #listed = new SparseSets<ListedState | RowNote, string>();
  /**
   * Collectors that left the target version. The value is the monotonic time in ms of the first listing that showed
   * another version.
   */
  readonly #drifts = new SparseMap<string, number>();

  constructor(options: MemberIndexOptions) {
    this.#options = options;
    const { spec, settings, ledger } = options;
    const targetVersion = ledger.header.target;
    this.matches = compileSelection(spec.selector, spec.exclude);
    this.selection = nameSelection(spec);
    this.#opensByCollector = opensByCollector(spec.maintenance);
    this.isReselected = (ledger.header.selection ?? this.selection) !== this.selection;
    this.context = {
      targetVersion,
      target: parseBuildVersion(targetVersion),
      allowDowngrade: spec.allowDowngrade,
      offlinePolicy: spec.offlinePolicy,
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

  /** Returns the collector's state in the policy, or undefined if the collector does not belong to the policy. */
  member(id: string): Member | undefined {
    return this.#members.get(id);
  }

  ids(): IterableIterator<string> {
    return this.#members.keys();
  }

  /** Returns how many of the policy's collectors run each version. */
  countVersions(): ReadonlyMap<string, number> {
    return countVersions(this.#members.values(), ({ version }) => version);
  }

  /**
   * Returns the readable time zones of the policy's collectors. The result is empty if no maintenance window uses
   * collectors' time zones.
   */
  timeZones(): Iterable<string> {
    return this.#zones;
  }

  /**
   * Returns the collectors whose state can change without a notification. Every decision must compute their states
   * again.
   */
  unfinished(): readonly string[] {
    return [...this.#refusedOffline(), ...this.members('contradicted')];
  }

  /**
   * Yields the collectors whose last upgrade was refused because they were offline. Their states depend on
   * `lastSeenAliveMs`. No event reports a change of this time, so every decision checks these collectors again.
   */
  *#refusedOffline(): IterableIterator<string> {
    for (const memberState of ['offline', 'failed'] as const)
      for (const id of this.members(memberState))
        if (this.#options.ledger.entry(id)?.ending?.kind === 'offline') yield id;
  }

  /**
   * True if the next read of the collector list may change a collector's state, for example because the collector is
   * offline.
   */
  get awaitsSweep(): boolean {
    return this.members('contradicted').size > 0 || this.#refusedOffline().next().done !== true;
  }

  /** Returns the reason why the collector belongs to the policy, or `none` if it does not belong to the policy. */
  membershipOf(id: string): Membership {
    return this.#membership(id, this.#options.ledger.entry(id));
  }

  #membership(id: string, entry: Entry | undefined): Membership {
    const row = this.row(id);
    const isSelected = row ? this.#selects(row, entry, this.#members.get(id)) : this.#isUnseenMember(entry);
    if (isSelected) return 'selected';
    return entry?.open ? 'kept' : 'none';
  }

  /** Updates the index after a change to one collector. */
  place(id: string, membership: Membership): void {
    if (membership === 'none') {
      this.#remove(id);
      return;
    }
    const { listing, ledger } = this.#options;
    const row = listing.row(id);
    const entry = ledger.entry(id);
    const before = this.#members.get(id);
    const { timeZone: zone = '' } = row?.collector ?? {};
    if (this.#opensByCollector && timeZone(zone)) this.#zones.add(zone);
    const driftMs = row && driftSinceMs(this.#drifts.get(id), row, entry, before?.memberState, this.context);
    if (driftMs !== undefined) this.#drifts.set(id, driftMs);
    else if (row) this.#drifts.delete(id);
    const memberState = memberStateOf(this.#input(id, entry), this.context);
    const version = row?.collector.collectorVersion || undefined;
    const notes = notesOf(row, entry, memberState, this.unseenSinceMs(id, entry) !== undefined, this.context);
    for (const note of rowNotes) this.#listed.put(note, id, notes[note]);
    const member = { memberState, version, selected: membership === 'selected', stage: this.#stageOf(id) };
    if (before && sameMember(before, member)) return;
    if (before) this.#count(id, before, -1);
    this.#members.set(id, member);
    this.#count(id, member, 1);
  }

  /**
   * Records that a stage was started, or that a retry has removed a stage. Returns the collectors whose states may have
   * changed. The caller must update these collectors.
   */
  noteStages(): readonly string[] {
    const { spec, ledger } = this.#options;
    const { stages = [] } = ledger.header;
    if (stages.length === this.#started) return [];
    this.#started = stages.length;
    const waiting = waitingStages(spec, ledger.header);
    const isStaged = (spec.strategy.stages ?? []).length > 0;
    this.#unlisted = catchAllStage(ledger.header) ?? (isStaged ? laterStage : noStage);
    this.#stageFilters = waiting.map(({ size, selector }) => {
      const matches = size === undefined && selector ? compileSelection(selector) : undefined;
      return matches ? (row) => row !== undefined && matches(row.collector) : () => true;
    });
    this.#order = undefined;
    const isConcerned = ([id, { stage, memberState }]: readonly [string, Member]) =>
      this.#stageOf(id) !== stage || memberState === 'skipped' || this.#isUnstaged(id, this.row(id));
    return [...this.#members].filter(isConcerned).map(([id]) => id);
  }

  #stageOf(id: string): number {
    return this.#options.ledger.listedIn(id) ?? this.#unlisted;
  }

  /** Reports whether the policy has stages, but no stage may choose the collector. */
  #isUnstaged(id: string, row: Row | undefined): boolean {
    return this.#stageOf(id) === laterStage && !this.#stageFilters.some((mayChoose) => mayChoose(row));
  }

  /**
   * Returns the state that the collector would have with this ledger entry. Returns undefined if the collector would
   * then not belong to the policy.
   */
  stateOf(id: string, entry: Entry | undefined): MemberState | undefined {
    return this.#membership(id, entry) === 'none' ? undefined : memberStateOf(this.#input(id, entry), this.context);
  }

  skipReason(id: string, entry: Entry | undefined): SkipReason | undefined {
    return skipReason(this.#input(id, entry), this.context);
  }

  row(id: string): Row | undefined {
    return this.#options.listing.row(id);
  }

  /**
   * Returns the ids of the collectors that have this state, such as `failed`, or this note, such as `silent` (offline
   * after the upgrade).
   */
  members(label: ListedState | RowNote): SetView<string> {
    return this.#listed.get(label);
  }

  /**
   * Returns the index of the collector's stage. Returns `laterStage` if no stage has chosen the collector, and
   * `noStage` if the policy has no stages.
   */
  stageOf(id: string): number {
    return this.#members.get(id)?.stage ?? noStage;
  }

  stageCounts(stage: number): Counts {
    return this.#stageCounts.get(stage) ?? emptyCounts();
  }

  /** Yields the collectors that no started stage has chosen. */
  *unlisted(): IterableIterator<Pick<StageCandidate, 'id' | 'collector'>> {
    const { ledger, listing } = this.#options;
    for (const id of this.#members.keys()) {
      if (ledger.listedIn(id) === undefined) yield { id, collector: listing.row(id)?.collector };
    }
  }

  driftingSinceMs(id: string): number | undefined {
    return this.#drifts.get(id);
  }

  /** Yields the pending collectors of all stages up to `lastStage`, in the order of their upgrades. */
  pending(lastStage = Infinity): Iterable<string> {
    return this.#order?.upTo(lastStage, this.#memberOf) ?? [];
  }

  /**
   * Sorts the pending collectors if their order may have changed. A decision must not change the index, so this method
   * is called before the decision.
   */
  sortPending(): void {
    const revision = this.#options.listing.orderRevision();
    if (!this.#order || revision !== this.#orderRevision) this.#order = this.#sort();
    this.#orderRevision = revision;
    this.#order.trim(this.#memberOf);
  }

  owns(id: string): boolean {
    return this.#options.ownership.owner(id)?.uid === this.#options.policy;
  }

  /** Reports whether this policy may start the collector's next upgrade (U13). */
  comesFirst(id: string): boolean {
    return this.#options.ownership.first(id)?.uid === this.#options.policy;
  }

  /**
   * Returns the collector's running upgrade if no policy manages the upgrade any more, for example because the policy
   * that started it was deleted. Otherwise returns undefined.
   */
  orphan(id: string): Flight | undefined {
    return this.#options.ownership.orphan(id);
  }

  /**
   * Reports whether the policy selects a collector. A collector that a stage has chosen or that has been upgraded stays
   * selected even if its fields change, for example its version (U12).
   */
  #selects({ collector }: Row, entry: Entry | undefined, before: Member | undefined): boolean {
    if (this.matches(collector)) return true;
    if (!entry) return this.#isFrozen(collector.id);
    if (before || !this.isReselected) return before?.selected ?? true;
    return this.matches({ ...collector, collectorVersion: entry.before });
  }

  /** Reports whether a started stage has chosen the collector, and the selector has not been edited since then. */
  #isFrozen(id: string): boolean {
    const { ledger } = this.#options;
    const stage = ledger.listedIn(id) ?? noStage;
    return ledger.header.stages?.[stage]?.selection === this.selection;
  }

  /**
   * Reports whether a collector that the service does not list remains in the policy, for example during its upgrade
   * (U7).
   */
  #isUnseenMember(entry: Entry | undefined): boolean {
    if (!entry) return false;
    return entry.open !== undefined || !this.#options.listing.observes(this.context.targetVersion);
  }

  #input(id: string, entry: Entry | undefined) {
    const { listing, ownership, policy } = this.#options;
    const flight = ownership.flight(id);
    const isOurs = flight?.policy === policy;
    // If `entry` has no open attempt, this policy's upgrade has ended, even if the ownership table still shows it as
    // running.
    const hasEnded = isOurs && entry?.open === undefined;
    const isForgotten = hasEnded && entry === undefined && flight.taskId !== undefined;
    const row = listing.row(id);
    const elsewhere = flight && (!isOurs || isForgotten) ? flight : this.#unseenUpgrade(id, entry);
    return {
      row,
      entry,
      owned: hasEnded ? this.comesFirst(id) : this.owns(id),
      awaited: this.comesFirst(id),
      elsewhere: elsewhere?.toVersion,
      drifted: this.#drifts.has(id),
      unstaged: this.#isUnstaged(id, row),
      zoneless: this.#opensByCollector && row !== undefined && !timeZone(row.collector.timeZone ?? ''),
    };
  }

  /**
   * Returns the monotonic time in ms from which a listing can show the result of an upgrade that another policy or
   * program has made. Returns undefined if there is no such upgrade, or if a listing already shows its result (U8,
   * U13).
   */
  unseenSinceMs(id: string, entry: Entry | undefined): number | undefined {
    const upgrade = this.#unseenUpgrade(id, entry);
    return upgrade && upgrade.atMs + this.#options.settings.graceMs;
  }

  #unseenUpgrade(id: string, entry: Entry | undefined): EndedUpgrade | undefined {
    const { listing, ownership, policy, settings } = this.#options;
    const upgrade = ownership.otherUpgrade(id, policy, entry === undefined);
    const seenAtMs = listing.row(id)?.seenAtMs;
    return upgrade && seenAtMs !== undefined && seenAtMs < upgrade.atMs + settings.graceMs ? upgrade : undefined;
  }

  #remove(id: string): void {
    const member = this.#members.get(id);
    if (!member) return;
    this.#count(id, member, -1);
    this.#members.delete(id);
    this.#order?.forget(id);
    this.#drifts.delete(id);
    for (const note of rowNotes) this.#listed.put(note, id, false);
  }

  #count(id: string, { memberState, stage }: Member, change: 1 | -1): void {
    this.#counts[memberState] += change;
    if (stage !== noStage) {
      const counts = this.#stageCounts.get(stage) ?? emptyCounts();
      this.#stageCounts.set(stage, counts);
      counts[memberState] += change;
    }
    if (memberState === 'pending') {
      if (change === 1) this.#order?.returned(id);
    } else if (memberState !== 'updated') {
      this.#listed.put(memberState, id, change === 1);
    }
  }

  #sort(): PendingOrder {
    const { listing, spec } = this.#options;
    const byName = spec.strategy.order === 'Name';
    const pending: PendingMember[] = [];
    for (const [id, { memberState, version, stage }] of this.#members) {
      if (memberState !== 'pending') continue;
      const name = byName ? (listing.row(id)?.collector.name ?? '') : '';
      pending.push({ id, stage, version, name, place: listing.placeOf(id) });
    }
    return new PendingOrder(pending, spec.strategy.order);
  }
}

function sameMember(left: Member, right: Member): boolean {
  return (
    left.memberState === right.memberState &&
    left.version === right.version &&
    left.selected === right.selected &&
    left.stage === right.stage
  );
}
