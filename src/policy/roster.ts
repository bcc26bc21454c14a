/**
 * The members of a policy and how each stands: an index over listing, ledger and ownership, brought up to date by what changed
 * instead of by looking at everybody, so that the cost of a rollout grows with its collectors and not with their square.
 *
 * Invariant: `counts` and `versions` are what classifying every member anew would give (held by a property test).
 */

import type { CollectorVersionPolicySpec } from '../api/generated/collector-version-policy.ts';
import { parseBuildVersion } from '../base/build-version.ts';
import { type SetView, SparseSet } from '../base/sparse.ts';
import { timeZone } from '../base/time-zone.ts';
import type { FleetListing } from '../fleet/fleet-listing.ts';
import type { Row } from '../fleet/fleet-rows.ts';
import type { Flight, Ownership } from '../fleet/ownership.ts';
import type { Entry, Ledger } from './ledger.ts';
import { type InLine, PendingOrder } from './pending-order.ts';
import { RowNotes } from './row-notes.ts';
import { anchorOf, compileSelection, type Matcher, nameSelection } from './selector.ts';
import type { PolicySettings } from './settings.ts';
import { StageIndex, type StageTraits } from './stage-index.ts';
import { settledSizes } from './stage-progress.ts';
import { noStage, StageList } from './stages.ts';
import {
  isEligible,
  type SkipReason,
  type Standing,
  type StandingContext,
  skipReason,
  standingOf,
} from './standing.ts';
import { type Counts, emptyCounts, type MutableCounts } from './standing-counts.ts';

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
  readonly stage: number;
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
  readonly #opensByCollector: boolean;
  readonly #zones = new SparseSet<string>();
  readonly #stages: StageIndex;
  readonly #order: PendingOrder;
  readonly #versions = new Map<string, number>();
  readonly #listed: { readonly [S in ListedStanding]: SparseSet<string> } = {
    inProgress: new SparseSet(),
    retrying: new SparseSet(),
    drifting: new SparseSet(),
    failed: new SparseSet(),
    offline: new SparseSet(),
    newer: new SparseSet(),
    skipped: new SparseSet(),
    foreign: new SparseSet(),
  };
  readonly #notes: RowNotes;
  /** Collectors with an entry that are no members: their rows are followed, too, since they may become members again. */
  readonly #former = new SparseSet<string>();
  #isNew = true;
  #orderRevision = -1;

  constructor(options: RosterOptions) {
    this.#options = options;
    const { spec, targetVersion, settings, ledger } = options;
    this.#matches = compileSelection(spec.selector, spec.exclude);
    this.selection = nameSelection(spec);
    this.#stages = new StageIndex(new StageList(spec.strategy.stages));
    this.#order = new PendingOrder(spec.strategy.order);
    this.#opensByCollector = opensByCollector(spec);
    this.isReselected = (ledger.header.selection ?? this.selection) !== this.selection;
    this.#context = {
      targetVersion,
      target: parseBuildVersion(targetVersion),
      allowDowngrade: spec.allowDowngrade,
      retryLimit: spec.retryPolicy.limit,
      settings,
    };
    this.#notes = new RowNotes(this.#context);
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

  /** The time zones of members, where windows open by them. */
  timeZones(): Iterable<string> {
    return this.#zones;
  }

  /** Brings the roster up to what listing and ownership say now. */
  sync(): void {
    const { listing, ownership, policy } = this.#options;
    this.claimNew();
    // A newer sign of life is no change of a row, and still the end of being offline.
    for (const id of [...this.#listed.offline, ...this.#notes.contradicted]) this.place(id);
    for (const id of ownership.takeChanged(policy)) this.place(id);
    if (this.#stages.isStale) this.#assignStages();
    if (listing.orderRevision() !== this.#orderRevision) {
      this.#orderRevision = listing.orderRevision();
      this.#order.outdate();
    }
  }

  /**
   * Whether a sweep may change how a member stands although its row stays the same: it shows a newer sign of life, or it is the first
   * one that was sent after an attempt had ended.
   */
  get awaitsSweep(): boolean {
    if (this.#notes.contradicted.size > 0) return true;
    for (const id of this.#listed.offline) {
      if (this.#options.ledger.entry(id)?.ending?.kind === 'offline') return true;
    }
    return false;
  }

  /** Looks only at the collectors whose rows have changed, so that the policy claims new ones (U13). */
  claimNew(): void {
    if (this.#isNew) {
      this.#begin();
      return;
    }
    for (const id of this.#options.listing.rows.members.takeChanged(this.#options.policy)) this.place(id);
  }

  /** Looks at every collector that the selection may match, at those with an entry, and at those that the policy has claimed so far. */
  #begin(): void {
    this.#isNew = false;
    const { listing, ledger, ownership, policy, spec } = this.#options;
    const anchor = anchorOf(spec.selector);
    const onChange = () => ownership.outdate(policy);
    listing.rows.members.enter(policy, { anchor, matches: this.#matches, onChange });
    for (const id of listing.rows.anchored(anchor)) this.place(id);
    for (const { collectorId } of ledger.entries()) this.place(collectorId);
    for (const id of [...ownership.claimed(policy)]) if (!this.#members.has(id)) this.place(id);
  }

  /** Stops hearing of changes. What is claimed stays claimed. */
  leave(): void {
    const { listing, policy } = this.#options;
    const { members } = listing.rows;
    for (const id of [...this.#members.keys(), ...this.#former]) members.unfollow(policy, id);
    members.leave(policy);
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
      this.#stages.noteVanished(id, row ? undefined : this.#stages.list.indexOf(entry?.stage));
      ownership.unclaim(policy, id);
      this.#followFormer(id, entry);
      return;
    }
    ownership.claim(policy, id);
    if (!before) {
      this.#former.delete(id);
      listing.rows.members.follow(policy, id);
    }
    if (this.#opensByCollector && row?.collector.timeZone) this.#zones.add(row.collector.timeZone);
    if (row) this.#notes.noteDrift(id, row, entry, before?.standing);
    const standing = this.standing(id, entry);
    const version = row?.collector.collectorVersion || undefined;
    this.#notes.note(id, row, entry, standing, this.unseenSinceMs(id, entry) !== undefined);
    if (this.#stages.isUsed) this.#stages.note(id, this.#stageTraits(id, row, entry, standing));
    const member = { standing, version, selected, stage: this.#stages.stageOf(id) };
    if (before && sameMember(before, member)) return;
    if (before) this.#uncount(id, before);
    this.#members.set(id, member);
    this.#count(id, member);
  }

  #followFormer(id: string, entry: Entry | undefined): void {
    const { listing, policy } = this.#options;
    if (entry) {
      this.#former.add(id);
      listing.rows.members.follow(policy, id);
    } else {
      this.#former.delete(id);
      listing.rows.members.unfollow(policy, id);
    }
  }

  #stageTraits(id: string, row: Row | undefined, entry: Entry | undefined, standing: Standing): StageTraits {
    const matches = row ? this.#stages.list.matches(row.collector) : 0;
    // Whether a stage has it must not decide whether one takes it, or it would be taken and left in turns.
    const staged = standing === 'skipped' ? { ...this.#input(id, entry), unstaged: false } : undefined;
    const startedIn = this.#stages.list.indexOf(entry?.stage);
    const eligible = isEligible(staged ? standingOf(staged, this.#context) : standing, this.#options.spec);
    return { matches, startedIn, eligible, isThere: standing === 'updated' && startedIn === undefined };
  }

  /** Whom this finds eligible no longer was so before: twice round is enough. Whom another selection brings in goes through ended stages. */
  #assignStages(): void {
    const { spec, ledger } = this.#options;
    const { selection, stages } = ledger.header;
    const isWidened = this.isReselected && selection !== this.selection;
    const sizes = settledSizes(spec, isWidened ? [] : stages);
    for (let round = 0; round < 2 && this.#stages.isStale; round++) {
      const moved = this.#stages.assign(sizes);
      if (moved.length > 0) this.#order.outdate();
      for (const id of moved) this.place(id);
    }
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

  members(standing: ListedStanding): SetView<string> {
    return this.#listed[standing];
  }

  /** The index of the stage that a member belongs to, or `noStage`. */
  stageOf(id: string): number {
    return this.#members.get(id)?.stage ?? noStage;
  }

  get stages(): StageList {
    return this.#stages.list;
  }

  stageCounts(stage: number): Counts {
    return this.#stages.counts(stage);
  }

  /** How many were started in a stage and are in no list any more. */
  vanished(stage: number): number {
    return this.#stages.vanished(stage);
  }

  /** Who was brought to the target in this rollout and is not alive. */
  get silent(): SetView<string> {
    return this.#notes.silent;
  }

  /** Who is at the target and not alive, and this rollout has not touched. */
  get silentBefore(): SetView<string> {
    return this.#notes.silentBefore;
  }

  /** Who is at the target although its last attempt failed (U6), or lives again. */
  get mended(): SetView<string> {
    return this.#notes.mended;
  }

  /** When a drifting collector was first seen off the target, or undefined. */
  driftingSinceMs(id: string): number | undefined {
    return this.#notes.driftingSinceMs(id);
  }

  /**
   * Pending members of the stages up to this one, stage by stage, in the order of the strategy; within a version in the list's
   * order (U9).
   */
  *pending(lastStage = Number.POSITIVE_INFINITY): IterableIterator<string> {
    if (this.#order.isStale) this.#sort();
    yield* this.#order.upTo(
      lastStage,
      (id) => this.standingNow(id) === 'pending',
      (id) => this.stageOf(id),
    );
  }

  owns(id: string): boolean {
    return this.#options.ownership.owner(id)?.uid === this.#options.policy;
  }

  /** Whether it would be owned even if nothing was in flight there, so that something new may begin (U13). */
  comesFirst(id: string): boolean {
    return this.#options.ownership.first(id)?.uid === this.#options.policy;
  }

  /** What is in flight for this collector although the policy that began it is gone. */
  orphan(id: string): Flight | undefined {
    return this.#options.ownership.orphan(id);
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
      awaited: ownership.first(id)?.uid === policy,
      busyElsewhere: (flight !== undefined && flight.policy !== policy) || this.unseenSinceMs(id, entry) !== undefined,
      drifted: this.#notes.driftingSinceMs(id) !== undefined,
      unstaged: this.#stages.isUsed && this.#stages.stageOf(id) === noStage,
      zoneless: this.#opensByCollector && row !== undefined && !timeZone(row.collector.timeZone ?? ''),
    };
  }

  /** From when on a list shows what an upgrade came to that this ledger does not have; undefined where its row is as new (U8, U13). */
  unseenSinceMs(id: string, entry: Entry | undefined): number | undefined {
    const { listing, ownership, policy, settings } = this.#options;
    const sinceMs = (ownership.landedMs(id, policy, entry === undefined) ?? Number.NaN) + settings.graceMs;
    return (listing.row(id)?.seenAtMs ?? Number.NaN) < sinceMs ? sinceMs : undefined;
  }

  #remove(id: string): void {
    const member = this.#members.get(id);
    if (!member) return;
    this.#uncount(id, member);
    this.#members.delete(id);
    this.#stages.remove(id);
    this.#order.forget(id);
    this.#notes.forget(id);
  }

  #count(id: string, { standing, version, stage }: Member): void {
    this.#counts[standing]++;
    this.#stages.count(stage, standing, 1);
    if (version !== undefined) this.#versions.set(version, (this.#versions.get(version) ?? 0) + 1);
    if (standing === 'pending') {
      this.#order.returned(id);
    } else if (standing !== 'updated') {
      this.#listed[standing].add(id);
    }
  }

  #uncount(id: string, { standing, version, stage }: Member): void {
    this.#counts[standing]--;
    this.#stages.count(stage, standing, -1);
    if (version !== undefined) {
      const left = (this.#versions.get(version) ?? 1) - 1;
      if (left === 0) this.#versions.delete(version);
      else this.#versions.set(version, left);
    }
    if (standing !== 'pending' && standing !== 'updated') this.#listed[standing].delete(id);
  }

  #sort(): void {
    const { listing, spec } = this.#options;
    const byName = spec.strategy.order === 'Name';
    const line: InLine[] = [];
    for (const [id, { standing, version, stage }] of this.#members) {
      if (standing !== 'pending') continue;
      const name = byName ? (listing.row(id)?.collector.name ?? '') : '';
      line.push({ id, stage, version, name, place: listing.placeOf(id) });
    }
    this.#order.sort(line, this.#versions.keys());
  }
}

/** Whether windows open for each collector by its own time zone. */
export function opensByCollector({ maintenance }: Pick<CollectorVersionPolicySpec, 'maintenance'>): boolean {
  return maintenance?.windows?.some(({ timeZoneSource }) => timeZoneSource === 'Collector') ?? false;
}

function sameMember(left: Member, right: Member): boolean {
  return (
    left.standing === right.standing &&
    left.version === right.version &&
    left.selected === right.selected &&
    left.stage === right.stage
  );
}
