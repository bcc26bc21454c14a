/**
 * Finds out why the service does not know a search job (section 7.3 of docs/service.md): a replica does not know the
 * job yet, a cookie is missing, or the job was deleted or cancelled.
 */
import { hourMs } from '../../base/time-units.ts';
import type { jobMissings } from './request-failure.ts';

/**
 * Time in ms after a job's creation during which some replicas of the service may not know the job (section 10.2 of
 * docs/service.md).
 */
const replicaGraceMs = 10_000;
/**
 * Time in ms that applies instead of `replicaGraceMs` once a response has shown that at least one replica knows the
 * job.
 */
const heardReplicaGraceMs = 4_000;
/** Time in ms without requests after which the service may have cancelled a job (section 3.1 of docs/service.md). */
const silenceMs = 20_000;
/** Maximum duration of a search job in ms, after which the service ends the job (section 3.1 of docs/service.md). */
export const longestQueryMs = 8 * hourMs;

/** Request whose response said that the search job does not exist. */
export interface NoSuchJob {
  /** Monotonic time in ms at which the request was sent. */
  readonly sentAtMs: number;
  /** True if the request was sent to delete the job. */
  readonly isDeletion: boolean;
  /** True if the request carried a cookie of the job. */
  readonly hasCookie: boolean;
  /** True if the request was redirected to another address. */
  readonly isAstray: boolean;
}

/**
 * Request whose response said that the search job does not exist, together with what logfleet knows about the job.
 * Times are monotonic, in ms.
 */
export interface JobFacts extends NoSuchJob {
  /** Send time of the request that created the job. */
  readonly createdAtMs: number;
  /**
   * Send time of the latest request, other than the job's creation, whose response showed that the service knows the
   * job.
   */
  readonly heardAtMs: number | undefined;
  /** True if a request to delete the job may already have reached the service. */
  readonly isDeleted: boolean;
  /** True if any request for the job has carried a cookie. */
  readonly hadCookie: boolean;
}

export interface MissingJob {
  readonly failure: (typeof jobMissings)[number];
  readonly detail: string;
}

export function missingJob(facts: JobFacts): MissingJob {
  const { sentAtMs, createdAtMs, heardAtMs, hasCookie, hadCookie } = facts;
  const isHeard = heardAtMs !== undefined;
  const ageMs = sentAtMs - createdAtMs;
  const silentMs = sentAtMs - (heardAtMs ?? createdAtMs);
  // Redirects are checked first: after a redirect, the response may come from another service, which cannot know
  // whether the job exists.
  if (facts.isAstray && hadCookie && !hasCookie) {
    return {
      failure: 'jobCookieMissing',
      detail: 'a redirect led to a host that does not receive the cookies of the search job',
    };
  }
  if (facts.isDeleted) return { failure: 'jobDeleted', detail: 'the search job has been deleted' };
  if (ageMs < (isHeard ? heardReplicaGraceMs : replicaGraceMs)) {
    return { failure: 'jobNotKnownYet', detail: `${seconds(ageMs)} after its creation` };
  }
  if (facts.isDeletion) return { failure: 'jobDeleted', detail: 'it no longer exists' };
  if (!hasCookie && (hadCookie || !isHeard)) {
    return { failure: 'jobCookieMissing', detail: 'the request had no cookie' };
  }
  if (silentMs >= silenceMs) {
    return {
      failure: 'jobSilenced',
      detail: `the last successful request about the search job was sent ${seconds(silentMs)} before this request`,
    };
  }
  if (ageMs >= longestQueryMs)
    return { failure: 'jobTimedOut', detail: 'the search job was created more than eight hours ago' };
  return {
    failure: 'jobGone',
    detail: `the service still knew the search job ${seconds(silentMs)} before this request`,
  };
}

function seconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}
