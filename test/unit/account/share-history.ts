/**
 * Random histories of exports in Kubernetes Jobs, without a real cluster. Jobs are created, lose their pods, end and are deleted, watches
 * are late, and operators are replaced. After each event, the shares of all running pods and of the operator are added up.
 */
import {
  type HeldShare,
  limitsWithout,
  type ObservedShare,
  type RequestLimits,
  shareSize,
  WorkerShares,
} from '../../../src/account/worker-shares.ts';
import type { Random } from '../../../src/base/random.ts';

interface SimulatedJob {
  readonly held: HeldShare;
  /** True while the Job exists at the API server. */
  exists: boolean;
  isOver: boolean;
  /** Number of pods that send requests now. */
  pods: number;
}

export interface ShareHistory {
  /** Maximum number of workers at the same time. */
  readonly mostWorkers: number;
}

const user = 'user';
const steps = 200;

/** Runs one history. Throws if the shares ever exceed the limits of the user. */
export function shareHistory(random: Random): ShareHistory {
  const pick = (count: number) => Math.floor(random.next() * count);
  const limits: RequestLimits = {
    requestsPerSecond: [4, 3, 2.5, 1.7, 1.2][pick(5)] ?? 4,
    maxConcurrentRequests: 4 + pick(7),
  };
  const size = shareSize(limits);
  const jobs = new Map<string, SimulatedJob>();
  let shares = new WorkerShares();
  let nowMs = 0;
  let made = 0;
  let mostWorkers = 0;
  const observe = () =>
    shares.observe(
      [...jobs].flatMap(([name, job]) => observed(name, job)),
      nowMs,
    );
  const any = () => [...jobs.values()][pick(jobs.size)];
  const events: readonly (() => void)[] = [
    () => {
      const workers = 1 + pick(4);
      const held = { user, workers, share: size?.share ?? { requestsPerSecond: 1, maxConcurrentRequests: 2 } };
      const name = `job-${++made}`;
      if (!shares.reserve(name, held, limits)) return;
      // Some creations fail.
      if (random.next() < 0.2) shares.cancel(name);
      else jobs.set(name, { held, exists: true, isOver: false, pods: 0 });
    },
    () => {
      const job = any();
      if (job?.exists && !job.isOver && job.pods < job.held.workers) job.pods++;
    },
    () => {
      const job = any();
      if (job && job.pods > 0) job.pods--;
    },
    () => {
      const job = any();
      if (job && job.pods === 0) job.isOver = true;
    },
    // The pods of a deleted Job end later.
    () => {
      const job = any();
      if (job) job.exists = false;
    },
    observe,
    // Another operator lists all Jobs before its first request.
    () => {
      shares = new WorkerShares();
      observe();
    },
    () => {
      nowMs += pick(90_000);
    },
  ];
  for (let step = 0; step < steps; step++) {
    events[pick(events.length)]?.();
    const running = [...jobs.values()].filter(({ pods }) => pods > 0);
    const workers = running.reduce((sum, { pods }) => sum + pods, 0);
    mostWorkers = Math.max(mostWorkers, workers);
    const operator = limitsWithout(limits, shares.of(user));
    for (const name of ['requestsPerSecond', 'maxConcurrentRequests'] as const) {
      const used = running.reduce((sum, { pods, held }) => sum + pods * held.share[name], operator[name]);
      if (used > limits[name] + 1e-9) throw new Error(`step ${step}: ${name} add up to ${used} of ${limits[name]}`);
    }
    if (operator.requestsPerSecond < 1 || operator.maxConcurrentRequests < 2) {
      throw new Error(`step ${step}: the operator keeps ${JSON.stringify(operator)}`);
    }
  }
  return { mostWorkers };
}

function observed(job: string, { exists, isOver, pods, held }: SimulatedJob): readonly ObservedShare[] {
  if (exists) return [{ job, held, hasEnded: isOver && pods === 0 }];
  return pods > 0 ? [{ job, held, hasEnded: false }] : [];
}
