/**
 * Which attempts may be written ahead now: probes of unknown outcomes first, then retries, then who drifted, then who is pending,
 * in the strategy's order. Whoever may not start yet says when to look again, and what has to be seen first.
 */
import type { CollectorVersionPolicySpec } from '../api/generated/collector-version-policy.ts';
import { parseDuration } from '../base/duration.ts';
import { type Moment, probeIsDue } from './attempt.ts';
import type { Draft } from './draft.ts';
import type { Attempt, Entry } from './ledger.ts';
import type { Roster } from './roster.ts';
import type { PolicySettings } from './settings.ts';

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

export interface Admission {
  /** Entries whose open attempt is to be written ahead, then posted. */
  readonly post: readonly Entry[];
  readonly attempts: number;
  /** Collectors to be seen in a listing sent at or after this before they may go on. */
  readonly look: ReadonlyMap<string, number>;
  /** When to look again. */
  readonly nextMs: number;
  /** Whether somebody could have started, had there been room. */
  readonly pressed: boolean;
}

/** `maxInProgress` as a number: a percentage is of the matched ones, rounded up, at least 1. */
export function maxInProgressOf(spec: CollectorVersionPolicySpec, matched: number): number {
  const { maxInProgress } = spec.strategy;
  if (typeof maxInProgress === 'number') return maxInProgress;
  return Math.max(1, Math.ceil((Number.parseFloat(maxInProgress) / 100) * matched));
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

class Batch {
  readonly #input: AdmissionInput;
  readonly #post: Entry[] = [];
  readonly #look = new Map<string, number>();
  #attempts: number;
  #nextMs = Number.POSITIVE_INFINITY;
  #pressed = false;

  constructor(input: AdmissionInput) {
    this.#input = input;
    this.#attempts = input.attempts;
  }

  result(): Admission {
    const { draft, settings, spec, roster } = this.#input;
    const full = draft.openCount >= Math.min(settings.maxOpen, maxInProgressOf(spec, roster.matched));
    return {
      post: this.#post,
      attempts: this.#attempts,
      look: this.#look,
      nextMs: this.#nextMs,
      pressed: this.#pressed && full,
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

  /** U3: the outcome is unknown, and a listing sent G later shows another version. The same attempt is posted again. */
  probe(): void {
    const { draft, roster, settings, flying } = this.#input;
    for (const entry of [...draft.open()]) {
      const { open, collectorId } = entry;
      if (!open || open.toVersion !== this.#input.targetVersion || flying.has(collectorId)) continue;
      if (!roster.owns(collectorId) || !probeIsDue(open, roster.row(collectorId), settings)) continue;
      if (this.#post.length >= this.#input.room) return;
      this.#write({ ...entry, open: { ...open, state: 'intended', probe: true } });
    }
  }

  /** Failed ones with attempts left, after their back-off and a listing sent G after the end that still shows the old version (U6). */
  retry(): void {
    const { roster, draft, now, settings, spec } = this.#input;
    for (const id of roster.members('retrying')) {
      const entry = draft.entry(id);
      if (draft.standing(id) !== 'retrying' || !entry?.ending) continue;
      const dueMs = entry.ending.sinceMs + backOffMs(spec, entry.used);
      if (now.monotonicMs < dueMs) this.#wake(dueMs);
      else if (this.#seenSince(id, entry.ending.sinceMs + settings.graceMs)) this.#begin(id, entry, false);
    }
  }

  /** U8: after two listings ten minutes apart. */
  correctDrift(): void {
    const { roster, draft, settings } = this.#input;
    for (const id of roster.members('drifting')) {
      const sinceMs = roster.driftingSinceMs(id);
      if (sinceMs === undefined || draft.standing(id) !== 'drifting') continue;
      if (this.#seenSince(id, sinceMs + settings.driftConfirmMs)) this.#begin(id, draft.entry(id), true);
    }
  }

  start(): void {
    const { roster, draft } = this.#input;
    for (const id of roster.pending()) {
      if (draft.standing(id) !== 'pending') continue;
      if (!this.#begin(id, draft.entry(id), false)) return;
    }
  }

  #seenSince(id: string, sentAfterMs: number): boolean {
    const { roster, now } = this.#input;
    if ((roster.row(id)?.seenAtMs ?? 0) >= sentAfterMs) return true;
    if (now.monotonicMs >= sentAfterMs) this.#look.set(id, sentAfterMs);
    else this.#wake(sentAfterMs);
    return false;
  }

  /** False when there is no room left. */
  #begin(id: string, before: Entry | undefined, drifted: boolean): boolean {
    const { draft, roster, settings, spec, targetVersion, now, flying } = this.#input;
    if (flying.has(id)) return true;
    this.#pressed = true;
    if (this.#post.length >= this.#input.room) return false;
    if (draft.openCount >= Math.min(settings.maxOpen, maxInProgressOf(spec, roster.matched))) return false;
    const entry = before ?? this.#newEntry(id);
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
    return true;
  }

  #newEntry(id: string): Entry {
    const before = this.#input.roster.row(id)?.collector.collectorVersion || undefined;
    return { collectorId: id, before, used: 0, drifts: 0, open: undefined, ending: undefined };
  }

  #write(entry: Entry): void {
    this.#input.draft.set(entry.collectorId, entry);
    this.#post.push(entry);
  }

  #wake(atMs: number): void {
    if (atMs > this.#input.now.monotonicMs) this.#nextMs = Math.min(this.#nextMs, atMs);
  }
}

/** The wait before the attempt after `used` ones: grows by the factor from one to the next, up to the cap. */
export function backOffMs(spec: CollectorVersionPolicySpec, used: number): number {
  const { duration, factor, cap } = spec.retryPolicy.backoff;
  const firstMs = parseDuration(duration) ?? 0;
  const capMs = parseDuration(cap) ?? Number.POSITIVE_INFINITY;
  return Math.min(capMs, firstMs * factor ** Math.max(0, used - 1));
}
