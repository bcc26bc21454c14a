/**
 * Finds the cause of an answer that a search job does not exist (7.3), from facts that logfleet has recorded about the job. A
 * replica may not know the job yet, or a cookie is missing. Otherwise the job was deleted, or the service has cancelled it
 * because it got no requests or was too old.
 */
import type { jobMissings } from './outcome.ts';

/** Time in ms after a job's creation during which some replicas of the service may not know the job yet (10.2). */
const replicaGraceMs = 10_000;
/**
 * Time in ms after a job's creation during which a replica of the service may not know the job, even though another replica
 * does. All replicas usually learn of the job soon after the first one.
 */
const heardReplicaGraceMs = 4_000;
/**
 * Time in ms without requests after which the service may have cancelled a search job. It does so after 20 to 30 seconds (3.1).
 */
const silenceMs = 20_000;
/** Maximum duration of a search job in ms: the service ends it after eight hours (3.1). */
export const longestQueryMs = 8 * 3_600_000;

/** Request to which the service answered that the search job does not exist. */
export interface NoSuchJob {
  /** Monotonic send time of the request in ms. */
  readonly sentAtMs: number;
  /** Whether the request was a deletion of the job. */
  readonly isDeletion: boolean;
  /** Whether the request was sent with a cookie of the job. */
  readonly hasCookie: boolean;
  /** Whether a redirect led the request to another address than the one at which the job was created. */
  readonly isAstray: boolean;
}

/**
 * Request to which the service answered that the search job does not exist, with the facts that logfleet has recorded
 * about the job. All times are monotonic, in ms.
 */
export interface JobFacts extends NoSuchJob {
  /** Send time of the request that created the search job. */
  readonly createdAtMs: number;
  /**
   * Send time of the newest request after the creation whose answer showed that the service knows the job; undefined
   * if there is none.
   */
  readonly heardAtMs: number | undefined;
  /** Whether the service may have received an earlier request to delete the job. */
  readonly isDeleted: boolean;
  /** Whether any request of the job was sent with a cookie. */
  readonly hadCookie: boolean;
}

export interface MissingJob {
  readonly outcome: (typeof jobMissings)[number];
  readonly detail: string;
}

export function missingJob(facts: JobFacts): MissingJob {
  const { sentAtMs, createdAtMs, heardAtMs, hasCookie, hadCookie } = facts;
  const isHeard = heardAtMs !== undefined;
  const ageMs = sentAtMs - createdAtMs;
  const silentMs = sentAtMs - (heardAtMs ?? createdAtMs);
  // Redirects are checked first, because only the service at the address where the job was created can know the job.
  if (facts.isAstray && hadCookie && !hasCookie) {
    return {
      outcome: 'jobCookieMissing',
      detail: 'a redirect led to a host that does not receive the cookies of the search job',
    };
  }
  if (facts.isDeleted) return { outcome: 'jobDeleted', detail: 'the search job has been deleted' };
  if (ageMs < (isHeard ? heardReplicaGraceMs : replicaGraceMs)) {
    return { outcome: 'jobNotKnownYet', detail: `${seconds(ageMs)} after its creation` };
  }
  if (facts.isDeletion) return { outcome: 'jobDeleted', detail: 'it no longer exists' };
  if (!hasCookie && (hadCookie || !isHeard)) {
    return { outcome: 'jobCookieMissing', detail: 'the request had no cookie' };
  }
  if (silentMs >= silenceMs) {
    return {
      outcome: 'jobSilenced',
      detail: `the last answered request for the search job was sent ${seconds(silentMs)} before this request`,
    };
  }
  if (ageMs >= longestQueryMs)
    return { outcome: 'jobTimedOut', detail: 'the search job was created more than eight hours ago' };
  return {
    outcome: 'jobGone',
    detail: `the service still knew the search job ${seconds(silentMs)} before this request`,
  };
}

function seconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}
