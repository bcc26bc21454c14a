/**
 * Which attempts may be written ahead now: probes of unknown outcomes first, then retries, then who drifted, then who is pending,
 * in the strategy's order. Who may not start yet says what it waits for, when to look again, and what has to be seen first
 * (`start-rules.ts`).
 */
import type { CollectorVersionPolicySpec } from '../api/generated/collector-version-policy.ts';
import { type Moment, monotonicOf, probeIsDue } from './attempt.ts';
import type { Draft } from './draft.ts';
import { type Attempt, type Entry, hasFailed, type LateStart, wantedVersion } from './ledger.ts';
import type { MaintenanceCalendar } from './maintenance-calendar.ts';
import type { WayBack } from './rollback.ts';
import type { Course } from './rollout-course.ts';
import type { Roster } from './roster.ts';
import type { PolicySettings } from './settings.ts';
import { placesOf } from './stages.ts';
import { type Candidate, type Line, ownStageAhead, ownWindowClosed, type Refusal, refusalOf } from './start-rules.ts';

export interface AdmissionInput {
  readonly spec: CollectorVersionPolicySpec;
  readonly targetVersion: string;
  readonly roster: Roster;
  readonly draft: Draft;
  /** Attempts numbered so far. */
  readonly attempts: number;
  /** How many may be written ahead in this batch. */
  readonly room: number;
  /** Whether a collector's POST of this process has not been answered. */
  readonly flying: ReadonlySet<string>;
  readonly now: Moment;
  readonly settings: PolicySettings;
  readonly course: Course;
  readonly calendar: MaintenanceCalendar;
}

/** Collectors that one rule keeps from starting, for one reason. */
export interface Wait {
  /** Completes the sentence "waiting for …". */
  readonly waitsFor: string;
  /** Of the condition; undefined for the usual one. */
  readonly reason: string | undefined;
  readonly collectors: number;
  /** Monotonic: the first of them need not wait any longer; undefined where that is not known. */
  readonly untilMs: number | undefined;
  /** Whether all that come later in the line wait, too. */
  readonly forAll: boolean;
}

export interface Admission {
  /** Whether anything may start at all. */
  readonly mayStart: boolean;
  /** Entries whose open attempt is to be written ahead, then posted. */
  readonly post: readonly Entry[];
  readonly attempts: number;
  /** Collectors to be seen in a listing sent at or after this before they may go on. */
  readonly look: ReadonlyMap<string, number>;
  /** When to look again. */
  readonly nextMs: number;
  /** Whether somebody waits for a place. */
  readonly pressed: boolean;
  /** Whether somebody waits for what is over in a moment, as room in the batch. */
  readonly isBrisk: boolean;
  /** What those wait for who were in the line, in its order. */
  readonly waits: readonly Wait[];
}

export function admit(input: AdmissionInput): Admission {
  const batch = new Batch(input);
  batch.adoptOrphans();
  batch.probe();
  if (input.course.wayBack) {
    batch.takeBack(input.course.wayBack);
  } else {
    batch.retry();
    batch.correctDrift();
    batch.start();
  }
  return batch.result();
}

/** Where nothing may start. */
export function noAdmission(attempts: number): Admission {
  const nextMs = Number.POSITIVE_INFINITY;
  return { mayStart: false, post: [], attempts, look: new Map(), nextMs, pressed: false, isBrisk: false, waits: [] };
}

class Batch {
  readonly #input: AdmissionInput;
  readonly #post: Entry[] = [];
  readonly #look = new Map<string, number>();
  readonly #waits = new Map<string, Wait>();
  readonly #places = new Map<number, { readonly open: number; readonly most: number } | undefined>();
  #attempts: number;
  #isBrisk = false;

  constructor(input: AdmissionInput) {
    this.#input = input;
    this.#attempts = input.attempts;
  }

  result(): Admission {
    const waits = [...this.#waits.values()];
    return {
      mayStart: true,
      post: this.#post,
      attempts: this.#attempts,
      look: this.#look,
      nextMs: Math.min(...waits.map(({ untilMs = Number.POSITIVE_INFINITY }) => untilMs)),
      pressed: waits.some(({ forAll }) => forAll),
      isBrisk: this.#isBrisk,
      waits,
    };
  }

  /** What a policy that is gone left in flight is taken over instead of being posted again (U13). */
  adoptOrphans(): void {
    const { roster, draft, now } = this.#input;
    if (roster.members('inProgress').size <= draft.openCount) return;
    for (const id of roster.members('inProgress')) {
      if (draft.entry(id)?.open) continue;
      const orphan = roster.orphan(id);
      if (!orphan) continue;
      // It may never have been sent, so that its probe would begin it now (R2, R4). Nothing else begins there before the stage has come.
      if (orphan.taskId === undefined && ownStageAhead({ id, because: 'pending' }, this.#line())) continue;
      const open: Attempt = {
        number: ++this.#attempts,
        toVersion: orphan.toVersion,
        // Without a task id nobody knows whether it was ever accepted: a probe tells (U3).
        state: orphan.taskId === undefined ? 'unknown' : 'accepted',
        taskId: orphan.taskId,
        ours: true,
        probe: false,
        startedAtMs: now.wallMs,
        // Its POST may have been on its way until just now.
        sinceMs: orphan.taskId === undefined ? now.monotonicMs : orphan.sinceMs,
        needsGrace: true,
      };
      const entry = this.#started(id);
      draft.set(id, { ...entry, used: entry.used + 1, open });
    }
  }

  /**
   * U3: the outcome is unknown, and a listing sent G later shows another version. The same attempt is posted again, if it is
   * still wanted: it may never have been sent.
   */
  probe(): void {
    const { draft, roster, settings, flying } = this.#input;
    for (const entry of [...draft.open()]) {
      const { open, collectorId } = entry;
      if (!open || open.toVersion !== wantedVersion(entry, this.#input.targetVersion) || flying.has(collectorId))
        continue;
      // While collectors are taken back none is sent forward, not even on trial.
      if (entry.back !== (this.#input.course.wayBack !== undefined)) continue;
      if (
        !roster.selects(collectorId) ||
        !roster.owns(collectorId) ||
        !probeIsDue(open, roster.row(collectorId), settings)
      )
        continue;
      // It may never have been sent, so that it would begin now (R8).
      if (ownWindowClosed({ id: collectorId, because: 'pending' }, this.#line())) continue;
      if (this.#post.length >= this.#input.room) return;
      this.#write({ ...entry, open: { ...open, state: 'intended', probe: true } });
    }
  }

  /** Failed ones with attempts left. */
  retry(): void {
    const { roster, draft } = this.#input;
    for (const id of roster.members('retrying')) {
      const entry = draft.entry(id);
      if (draft.standing(id) !== 'retrying' || !entry?.ending) continue;
      this.#consider({ id, because: 'failed', ending: entry.ending, used: entry.used });
    }
  }

  correctDrift(): void {
    const { roster, draft } = this.#input;
    for (const id of roster.members('drifting')) {
      const sinceMs = roster.driftingSinceMs(id);
      if (sinceMs === undefined || draft.standing(id) !== 'drifting') continue;
      this.#consider({ id, because: 'drifted', sinceMs });
    }
  }

  start(): void {
    const { roster, draft, course } = this.#input;
    for (const id of roster.pending(course.stages.reached)) {
      if (draft.standing(id) !== 'pending') continue;
      if (this.#consider({ id, because: 'pending' })?.forAll) return;
    }
    this.#waitAtGate();
  }

  /** All of the stages that have not been reached wait for the same. */
  #waitAtGate(): void {
    const { roster, course, now } = this.#input;
    const { gate, reached, current } = course.stages;
    if (!gate || current === undefined) return;
    let collectors = 0;
    for (let stage = reached + 1; stage < roster.stages.stages.length; stage++)
      collectors += roster.stageCounts(stage).pending;
    if (collectors === 0) return;
    const { waitsFor, reason, untilMs } = gate;
    this.#waits.set(waitsFor, { waitsFor, reason, collectors, untilMs: monotonicOf(untilMs, now), forAll: true });
  }

  /** Who this rollout upgraded goes back to the version that it had, one attempt after the other as on the way forth. */
  takeBack({ candidates, there }: WayBack): void {
    const { draft, now } = this.#input;
    for (const entry of there) {
      const { ending, before } = entry;
      if (!ending || before === undefined) continue;
      const found = { ...ending, kind: 'updated', toVersion: before, message: '', sinceMs: now.monotonicMs } as const;
      draft.set(entry.collectorId, { ...entry, back: true, ending: found });
    }
    for (const { collectorId: id, back, used, ending } of candidates) {
      const again = back && ending && hasFailed(ending);
      const candidate: Candidate = again ? { id, because: 'failed', ending, used } : { id, because: 'rollback' };
      const refusal = refusalOf(candidate, this.#line());
      if (refusal) this.#wait(id, refusal);
      else this.#beginBack(id);
      if (refusal?.forAll) return;
    }
  }

  /** Starts the collector, or returns why it may not. */
  #consider(candidate: Candidate): Refusal | undefined {
    const refusal = refusalOf(candidate, this.#line());
    if (refusal) this.#wait(candidate.id, refusal);
    else this.#begin(candidate.id, candidate.because === 'drifted');
    return refusal;
  }

  #line(): Line {
    return { ...this.#input, batched: this.#post.length, stagePlaces: (stage) => this.#stagePlaces(stage) };
  }

  /** Counted anew after each start of the stage. */
  #stagePlaces(stage: number): { readonly open: number; readonly most: number } | undefined {
    if (!this.#places.has(stage)) {
      const { roster, draft } = this.#input;
      const spec = roster.stages.stages[stage];
      const most = spec && placesOf(spec, roster.stageCounts(stage));
      this.#places.set(stage, most === undefined ? undefined : { open: draft.stageCounts(stage).inProgress, most });
    }
    return this.#places.get(stage);
  }

  #wait(id: string, { waitsFor, reason, untilMs, unseenSinceMs, forAll }: Refusal): void {
    if (unseenSinceMs !== undefined) this.#look.set(id, unseenSinceMs);
    if (waitsFor === undefined) {
      this.#isBrisk = true;
      return;
    }
    const before = this.#waits.get(waitsFor);
    const soonestMs = Math.min(before?.untilMs ?? Number.POSITIVE_INFINITY, untilMs ?? Number.POSITIVE_INFINITY);
    this.#waits.set(waitsFor, {
      waitsFor,
      reason,
      collectors: (before?.collectors ?? 0) + 1,
      untilMs: Number.isFinite(soonestMs) ? soonestMs : undefined,
      forAll: forAll ?? false,
    });
  }

  #begin(id: string, drifted: boolean): void {
    const { roster, targetVersion } = this.#input;
    const entry = this.#started(id);
    const drifts = entry.drifts + Number(drifted);
    // Lists may lag: who was at the target a moment ago may still be shown there.
    const needsGrace = drifts > 0 || roster.row(id)?.formerVersion === targetVersion;
    this.#write({
      ...entry,
      used: drifted ? 1 : entry.used + 1,
      drifts,
      open: this.#attempt(targetVersion, needsGrace),
    });
  }

  #beginBack(id: string): void {
    const entry = this.#input.draft.entry(id);
    if (entry?.before === undefined) return;
    // Lists may show it there from before it was brought to the target.
    const open = this.#attempt(entry.before, true);
    this.#write({ ...entry, used: entry.back ? entry.used + 1 : 1, back: true, open });
  }

  #attempt(toVersion: string, needsGrace: boolean): Attempt {
    const { now } = this.#input;
    return {
      number: ++this.#attempts,
      toVersion,
      state: 'intended',
      taskId: undefined,
      ours: true,
      probe: false,
      startedAtMs: now.wallMs,
      sinceMs: now.monotonicMs,
      needsGrace,
    };
  }

  /** Its entry as of now: in its stage, or late. */
  #started(id: string): Entry {
    const { late: _, ...known } = this.#input.draft.entry(id) ?? this.#newEntry(id);
    const { stages } = this.#input.roster.stages;
    const { stage = stages[this.#input.roster.stageOf(id)]?.name, used } = known;
    const late = this.#lateStart(id, stage);
    // Who has not been tried yet, for it was refused as not running, has not come late by that.
    const own = known.stage === undefined && used === 0 && !this.#isLateTo(stage) ? stage : known.stage;
    return { ...known, stage: own, ...(late && { late }) };
  }

  #lateStart(id: string, stage: string | undefined): LateStart | undefined {
    const { course, draft } = this.#input;
    if (!course.isComplete && !this.#isLateTo(stage)) return undefined;
    const { completions = 0 } = course.header;
    const { late, failures = 0 } = draft.entry(id) ?? {};
    return { completions, stage, failures: late?.completions === completions ? late.failures : failures };
  }

  /** Whether the stage has ended or soaks: what becomes of who comes to it now is not counted there. */
  #isLateTo(stage: string | undefined): boolean {
    const { stages } = this.#input.course;
    const { current = Number.POSITIVE_INFINITY, records } = stages;
    const index = this.#input.roster.stages.indexOf(stage);
    if (index === undefined) return false;
    const soaks = records.some(({ name, updatedAtMs }) => name === stage && updatedAtMs !== undefined);
    return index < current || (index === current && soaks);
  }

  #newEntry(id: string): Entry {
    const { roster } = this.#input;
    const before = roster.row(id)?.collector.collectorVersion || undefined;
    return {
      collectorId: id,
      before,
      used: 0,
      drifts: 0,
      failures: 0,
      stage: undefined,
      back: false,
      open: undefined,
      ending: undefined,
    };
  }

  #write(entry: Entry): void {
    this.#input.draft.set(entry.collectorId, entry);
    this.#places.delete(this.#input.roster.stageOf(entry.collectorId));
    this.#post.push(entry);
  }
}
