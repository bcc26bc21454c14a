/**
 * What "there is no such job" means (7.3): the service gives one answer for a replica that has not heard of the job yet, for a cookie
 * that was not sent, for a job that was cancelled for silence or age, and for one that somebody deleted. Told apart by what we
 * know of the job ourselves.
 */
import type { JobRefusal } from './call.ts';
import type { JobMissing } from './outcome.ts';

/** For so long after the creation a replica may not have heard of the job (10.2). */
const replicaGraceMs = 10_000;
/** Once the service has shown that it knows the job, the other replicas are not far behind. */
const heardReplicaGraceMs = 4_000;
/** The service cancels a job that nobody asks for within 20 to 30 seconds (3.1). */
const silenceMs = 20_000;
/** A query ends after eight hours (3.1). */
export const longestQueryMs = 8 * 3_600_000;

/** What is known of a job; times on the monotonic clock. */
export interface JobFacts {
  /** When its creation was sent. */
  readonly createdAtMs: number;
  /** When the newest request was sent on which the service showed that it knows the job; its creation at first. */
  readonly heardAtMs: number;
  /** Whether the service has shown so since the creation. */
  readonly isHeard: boolean;
  /** Whether a deletion that was sent before may have come through. */
  readonly isDeleted: boolean;
  /** Whether it is a deletion that found no job. */
  readonly isDeletion: boolean;
  /** Whether a cookie went with any of its requests. */
  readonly hadCookie: boolean;
}

export interface MissingJob {
  readonly outcome: JobMissing;
  /** For the message. */
  readonly detail: string;
}

export function missingJob(facts: JobFacts, { sentAtMs, hasCookie, isAstray }: JobRefusal): MissingJob {
  const ageMs = sentAtMs - facts.createdAtMs;
  const silentMs = sentAtMs - facts.heardAtMs;
  // Before all else: what does not know the job is not where it is.
  if (isAstray && facts.hadCookie && !hasCookie) {
    return { outcome: 'jobCookieMissing', detail: 'a redirect led to where its cookies do not go' };
  }
  if (facts.isDeleted) return { outcome: 'jobDeleted', detail: 'it has been deleted' };
  if (ageMs < (facts.isHeard ? heardReplicaGraceMs : replicaGraceMs)) {
    return { outcome: 'jobNotKnownYet', detail: `${seconds(ageMs)} after its creation` };
  }
  if (facts.isDeletion) return { outcome: 'jobDeleted', detail: 'there is nothing left to delete' };
  if (!hasCookie && (facts.hadCookie || !facts.isHeard)) {
    return { outcome: 'jobCookieMissing', detail: 'no cookie went with the request' };
  }
  if (silentMs >= silenceMs) {
    return { outcome: 'jobSilenced', detail: `the last request before that was answered is ${seconds(silentMs)} old` };
  }
  if (ageMs >= longestQueryMs) return { outcome: 'jobTimedOut', detail: 'it was created more than eight hours ago' };
  return { outcome: 'jobGone', detail: `it was there ${seconds(silentMs)} before` };
}

function seconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}
