/**
 * Index of a policy's collectors and their states, derived from listing, ledger and ownership. After a change, only the affected
 * collectors are updated, so the cost of a rollout grows linearly with the number of its collectors.
 *
 * Invariant: `counts` equals the result of computing the state of every collector again (checked by a property test).
 */

import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import { parseBuildVersion } from '../../base/build-version.ts';
import { type SetView, SparseMap, SparseSet, SparseSets } from '../../base/sparse.ts';
import { timeZone } from '../../base/time-zone.ts';
import type { FleetListing } from '../../fleet/fleet-listing.ts';
import { countVersions, type Row } from '../../fleet/fleet-rows.ts';
import type { Flight, Ownership } from '../../fleet/ownership.ts';
import type { Entry, Ledger } from '../ledger/ledger.ts';
import { laterStage, noStage, restStage, type StageCandidate, waitingStages } from '../rollout/stages.ts';
import type { PolicySettings } from '../settings.ts';
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
import { type Counts, emptyCounts, type MutableCounts } from './state-counts.ts';

export type ListedRows = Pick<FleetListing, 'rows' | 'row' | 'placeOf' | 'orderRevision' | 'observes'>;

export interface MemberIndexOptions {
  readonly policy: string;
  readonly spec: CollectorVersionPolicySpec;
  readonly listing: ListedRows;
  readonly ownership: Ownership;
  readonly ledger: Ledger;
  readonly settings: PolicySettings;
}

export interface Member {
  readonly memberState: MemberState;
  /** Version of the collector; undefined when the service's list does not show it. */
  readonly version: string | undefined;
  /**
   * Whether the policy's selector matches the collector. If not, the policy keeps the collector only until the collector's
   * running upgrade has ended.
   */
  readonly selected: boolean;
  readonly stage: number;
}

/**
 * Reason why a policy has a collector.
 * - `selected`: the policy's selector matches the collector.
 * - `kept`: the policy has the collector only until its open attempt has ended.
 * - `none`: the policy does not have the collector.
 */
export type Membership = 'selected' | 'kept' | 'none';

/** States for which the index lists the collectors. The large groups `updated` and `pending` are only counted. */
type ListedState = Exclude<MemberState, 'updated' | 'pending'>;

export class PolicyMemberIndex {
  readonly #options: MemberIndexOptions;
  /** Whether the policy's selector and exclusions match a collector. */
  readonly matches: Matcher;
  readonly context: MemberContext;
  /** Digest of the policy's selector and exclusions. Another selector has another digest. */
  readonly selection: string;
  /** Whether the policy's selector has changed since the attempts in the ledger were made. */
  readonly isReselected: boolean;
  readonly #members = new Map<string, Member>();
  readonly #counts: MutableCounts = emptyCounts();
  readonly #opensByCollector: boolean;
  readonly #zones = new SparseSet<string>();
  /** Number of collectors in each state, by the index of their stage. Empty for a policy without stages. */
  readonly #stageCounts = new SparseMap<number, MutableCounts>();
  /** For each stage that has not started, a function that says whether the stage may choose a collector. */
  #takers: readonly ((row: Row | undefined) => boolean)[] = [];
  /** Stage index for all collectors that are in no stored list of a stage. */
  #unlisted = noStage;
  /** Number of started stages when the index was last updated. */
  #started = -1;
  /** Pending collectors in the order of their upgrades; undefined when they must be sorted again. */
  #order: PendingOrder | undefined;
  /** Revision of the service's list by which the pending collectors were sorted. */
  #orderRevision = -1;
  readonly #listed = new SparseSets<ListedState | RowNote, string>();
  /**
   * Collectors that left the target version, each with the send time (monotonic ms) of the first listing that shows another
   * version.
   */
  readonly #drifts = new SparseMap<string, number>();

  constructor(options: MemberIndexOptions) {
    this.#options = options;
    const { spec, settings, ledger } = options;
    const targetVersion = ledger.header.target;
    this.matches = compileSelection(spec.selector, spec.exclude);
    this.selection = nameSelection(spec);
    this.#opensByCollector = opensByCollector(spec);
    this.isReselected = (ledger.header.selection ?? this.selection) !== this.selection;
    this.context = {
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

  /** State, version and stage of a collector; undefined for a collector that the policy does not have. */
  member(id: string): Member | undefined {
    return this.#members.get(id);
  }

  ids(): IterableIterator<string> {
    return this.#members.keys();
  }

  /** Number of the policy's collectors by version, as listings show it. */
  countVersions(): Map<string, number> {
    return countVersions(this.#members.values(), ({ version }) => version);
  }

  /** Time zones of the policy's collectors; empty when no maintenance window depends on them. */
  timeZones(): Iterable<string> {
    return this.#zones;
  }

  /** Collectors whose states are computed again in each decision, because changes of these states are not reported. */
  unsettled(): readonly string[] {
    // A collector that is alive again leaves the state `offline`, but this is not reported as a change.
    return [...this.members('offline'), ...this.members('contradicted')];
  }

  /**
   * Whether the next read of the whole collector list may change a collector's state. For example, it may show that an
   * offline collector is alive again.
   */
  get awaitsSweep(): boolean {
    if (this.members('contradicted').size > 0) return true;
    for (const id of this.members('offline')) {
      if (this.#options.ledger.entry(id)?.ending?.kind === 'offline') return true;
    }
    return false;
  }

  /**
   * Reason why the policy has the collector: the policy's selector matches the collector, or an upgrade of the collector
   * runs.
   */
  membershipOf(id: string): Membership {
    const { listing, ledger } = this.#options;
    const [row, entry] = [listing.row(id), ledger.entry(id)];
    const isSelected = row ? this.#selects(row, entry, this.#members.get(id)) : this.#isUnseenMember(entry);
    if (isSelected) return 'selected';
    return entry?.open ? 'kept' : 'none';
  }

  /** Updates the index after a collector's listing, ledger entry or owner changed. The caller updates the policy's claims. */
  place(id: string, membership: Membership): void {
    if (membership === 'none') {
      this.#remove(id);
      return;
    }
    const { listing, ledger } = this.#options;
    const row = listing.row(id);
    const entry = ledger.entry(id);
    const before = this.#members.get(id);
    if (this.#opensByCollector && row?.collector.timeZone) this.#zones.add(row.collector.timeZone);
    const driftMs = row && driftSinceMs(this.#drifts.get(id), row, entry, before?.memberState, this.context);
    if (driftMs !== undefined) this.#drifts.set(id, driftMs);
    else if (row) this.#drifts.delete(id);
    const memberState = this.stateOf(id, entry);
    const version = row?.collector.collectorVersion || undefined;
    const notes = notesOf(row, entry, memberState, this.unseenSinceMs(id, entry) !== undefined, this.context);
    for (const note of rowNotes) this.#listed.put(note, id, notes[note]);
    const member = { memberState, version, selected: membership === 'selected', stage: this.#stageOf(id) };
    if (before && sameMember(before, member)) return;
    if (before) this.#count(id, before, -1);
    this.#members.set(id, member);
    this.#count(id, member, 1);
  }

  /** Updates the affected collectors after a stage has started, or after a retry has removed a started stage. */
  noteStages(): void {
    const { spec, ledger } = this.#options;
    const { stages = [] } = ledger.header;
    if (stages.length === this.#started) return;
    this.#started = stages.length;
    const waiting = waitingStages(spec, ledger.header);
    const isStaged = (spec.strategy.stages ?? []).length > 0;
    this.#unlisted = restStage(ledger.header) ?? (isStaged ? laterStage : noStage);
    this.#takers = waiting.map(({ size, selector }) => {
      const matches = size === undefined && selector ? compileSelection(selector) : undefined;
      return matches ? (row) => row !== undefined && matches(row.collector) : () => true;
    });
    for (const [id, { stage, memberState }] of [...this.#members]) {
      const isConcerned =
        this.#stageOf(id) !== stage || memberState === 'skipped' || this.#isUnstaged(id, this.row(id));
      if (isConcerned) this.place(id, this.membershipOf(id));
    }
    this.#order = undefined;
  }

  #stageOf(id: string): number {
    return this.#options.ledger.listedIn(id) ?? this.#unlisted;
  }

  /** Whether the policy has stages, and none of them takes the collector. */
  #isUnstaged(id: string, row: Row | undefined): boolean {
    return this.#stageOf(id) === laterStage && !this.#takers.some((takes) => takes(row));
  }

  /** State that the collector would have with this ledger entry. */
  stateOf(id: string, entry: Entry | undefined): MemberState {
    return memberStateOf(this.#input(id, entry), this.context);
  }

  skipReason(id: string, entry: Entry | undefined): SkipReason | undefined {
    return skipReason(this.#input(id, entry), this.context);
  }

  row(id: string): Row | undefined {
    return this.#options.listing.row(id);
  }

  /**
   * Collectors in a state such as `failed`, or for which the service's list shows a fact such as `silent` (no longer alive).
   */
  members(label: ListedState | RowNote): SetView<string> {
    return this.#listed.get(label);
  }

  /** Index of the stage that has chosen the collector; `laterStage` if none has, `noStage` for a policy without stages. */
  stageOf(id: string): number {
    return this.#members.get(id)?.stage ?? noStage;
  }

  stageCounts(stage: number): Counts {
    return this.#stageCounts.get(stage) ?? emptyCounts();
  }

  /** Collectors of the policy that no started stage has chosen. */
  *unlisted(): IterableIterator<Pick<StageCandidate, 'id' | 'collector'>> {
    const { ledger, listing } = this.#options;
    for (const id of this.#members.keys()) {
      if (ledger.listedIn(id) === undefined) yield { id, collector: listing.row(id)?.collector };
    }
  }

  driftingSinceMs(id: string): number | undefined {
    return this.#drifts.get(id);
  }

  /** Pending collectors of all stages up to this one, in the order of their upgrades (`pending-order.ts`). */
  *pending(lastStage = Infinity): IterableIterator<string> {
    const revision = this.#options.listing.orderRevision();
    if (!this.#order || revision !== this.#orderRevision) this.#order = this.#sort();
    this.#orderRevision = revision;
    yield* this.#order.upTo(lastStage, (id) => this.#members.get(id));
  }

  owns(id: string): boolean {
    return this.#options.ownership.owner(id)?.uid === this.#options.policy;
  }

  /**
   * Whether this policy will own the collector when the running upgrade of the collector, if any, has ended. Only this policy may start the
   * next upgrade (U13).
   */
  comesFirst(id: string): boolean {
    return this.#options.ownership.first(id)?.uid === this.#options.policy;
  }

  /** Upgrade of the collector that a deleted policy started and that still runs; undefined when there is none. */
  orphan(id: string): Flight | undefined {
    return this.#options.ownership.orphan(id);
  }

  /**
   * Whether the policy selects a collector. A collector for which this rollout has an attempt stays selected when its upgrade
   * changes its version (U12). After an edit of the selector, the new selector is compared with the version before the
   * attempt.
   */
  #selects({ collector }: Row, entry: Entry | undefined, before: Member | undefined): boolean {
    if (this.matches(collector)) return true;
    if (!entry) return false;
    if (before || !this.isReselected) return before?.selected ?? true;
    return this.matches({ ...collector, collectorVersion: entry.before });
  }

  /**
   * Whether the policy keeps a collector that is missing in the service's list: while its upgrade runs, and when no list can
   * show collectors at the target version (U7).
   */
  #isUnseenMember(entry: Entry | undefined): boolean {
    if (!entry) return false;
    return entry.open !== undefined || !this.#options.listing.observes(this.context.targetVersion);
  }

  #input(id: string, entry: Entry | undefined) {
    const { listing, ownership, policy } = this.#options;
    const flight = ownership.flight(id);
    const row = listing.row(id);
    return {
      row,
      entry,
      owned: this.owns(id),
      awaited: this.comesFirst(id),
      busyElsewhere: (flight !== undefined && flight.policy !== policy) || this.unseenSinceMs(id, entry) !== undefined,
      drifted: this.#drifts.has(id),
      unstaged: this.#isUnstaged(id, row),
      zoneless: this.#opensByCollector && row !== undefined && !timeZone(row.collector.timeZone ?? ''),
    };
  }

  /**
   * Monotonic time in ms from which a listing shows the result of an upgrade of this collector that this ledger does not
   * contain. Undefined when there is no such upgrade, or a listing has shown its result (U8, U13).
   */
  unseenSinceMs(id: string, entry: Entry | undefined): number | undefined {
    const { listing, ownership, policy, settings } = this.#options;
    const sinceMs = (ownership.landedMs(id, policy, entry === undefined) ?? Number.NaN) + settings.graceMs;
    return (listing.row(id)?.seenAtMs ?? Number.NaN) < sinceMs ? sinceMs : undefined;
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

  /** Adds a collector to the counts and lists of its state, or removes it from them. */
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

/** Whether maintenance windows use the time zone of each collector. */
export function opensByCollector({ maintenance }: Pick<CollectorVersionPolicySpec, 'maintenance'>): boolean {
  return maintenance?.windows?.some(({ timeZoneSource }) => timeZoneSource === 'Collector') ?? false;
}

function sameMember(left: Member, right: Member): boolean {
  return (
    left.memberState === right.memberState &&
    left.version === right.version &&
    left.selected === right.selected &&
    left.stage === right.stage
  );
}
