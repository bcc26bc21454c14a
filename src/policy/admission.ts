/**
 * Which attempts may be written ahead now: probes of unknown outcomes first, then retries, then who drifted, then who is pending,
 * in the strategy's order. Who may not start yet says what it waits for, when to look again, and what has to be seen first
 * (`start-rules.ts`).
 */
import type { CollectorVersionPolicySpec } from '../api/generated/collector-version-policy.ts';
import { type Moment, probeIsDue } from './attempt.ts';
import type { Draft } from './draft.ts';
import type { Attempt, Entry } from './ledger.ts';
import type { Roster } from './roster.ts';
import type { PolicySettings } from './settings.ts';
import { type Candidate, type Refusal, refusalOf } from './start-rules.ts';

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
}

/** Collectors that one rule keeps from starting, for one reason. */
export interface Wait {
  /** Completes the sentence "waiting for …". */
  readonly waitsFor: string;
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
  /** What those wait for who were in the line, in its order. */
  readonly waits: readonly Wait[];
}

export function admit(input: AdmissionInput): Admission {
  const batch = new Batch(input);
  batch.adoptOrphans();
  batch.probe();
  batch.retry();
  batch.correctDrift();
  batch.start();
  return batch.result();
}

/** Where nothing may start. */
export function noAdmission(attempts: number): Admission {
  const nextMs = Number.POSITIVE_INFINITY;
  return { mayStart: false, post: [], attempts, look: new Map(), nextMs, pressed: false, waits: [] };
}

class Batch {
  readonly #input: AdmissionInput;
  readonly #post: Entry[] = [];
  readonly #look = new Map<string, number>();
  readonly #waits = new Map<string, Wait>();
  #attempts: number;

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
      const entry = draft.entry(id) ?? this.#newEntry(id);
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
      if (!open || open.toVersion !== this.#input.targetVersion || flying.has(collectorId)) continue;
      if (
        !roster.selects(collectorId) ||
        !roster.owns(collectorId) ||
        !probeIsDue(open, roster.row(collectorId), settings)
      )
        continue;
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
    const { roster, draft } = this.#input;
    for (const id of roster.pending()) {
      if (draft.standing(id) !== 'pending') continue;
      if (this.#consider({ id, because: 'pending' })?.forAll) return;
    }
  }

  /** Starts the collector, or returns why it may not. */
  #consider(candidate: Candidate): Refusal | undefined {
    const refusal = refusalOf(candidate, { ...this.#input, batched: this.#post.length });
    if (refusal) this.#wait(candidate.id, refusal);
    else this.#begin(candidate.id, candidate.because === 'drifted');
    return refusal;
  }

  #wait(id: string, { waitsFor, untilMs, unseenSinceMs, forAll }: Refusal): void {
    if (unseenSinceMs !== undefined) this.#look.set(id, unseenSinceMs);
    if (waitsFor === undefined) return;
    const before = this.#waits.get(waitsFor);
    const soonestMs = Math.min(before?.untilMs ?? Number.POSITIVE_INFINITY, untilMs ?? Number.POSITIVE_INFINITY);
    this.#waits.set(waitsFor, {
      waitsFor,
      collectors: (before?.collectors ?? 0) + 1,
      untilMs: Number.isFinite(soonestMs) ? soonestMs : undefined,
      forAll: forAll ?? false,
    });
  }

  #begin(id: string, drifted: boolean): void {
    const { draft, roster, targetVersion, now } = this.#input;
    const entry = draft.entry(id) ?? this.#newEntry(id);
    const drifts = entry.drifts + Number(drifted);
    const open: Attempt = {
      number: ++this.#attempts,
      toVersion: targetVersion,
      state: 'intended',
      taskId: undefined,
      ours: true,
      probe: false,
      startedAtMs: now.wallMs,
      sinceMs: now.monotonicMs,
      // Lists may lag: who was at the target a moment ago may still be shown there.
      needsGrace: drifts > 0 || roster.row(id)?.formerVersion === targetVersion,
    };
    this.#write({ ...entry, used: drifted ? 1 : entry.used + 1, drifts, open });
  }

  #newEntry(id: string): Entry {
    const before = this.#input.roster.row(id)?.collector.collectorVersion || undefined;
    return { collectorId: id, before, used: 0, drifts: 0, open: undefined, ending: undefined };
  }

  #write(entry: Entry): void {
    this.#input.draft.set(entry.collectorId, entry);
    this.#post.push(entry);
  }
}
