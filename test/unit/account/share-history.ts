/**
 * Simulates the Kubernetes Jobs of exports, with random events. The pods and the operator together must never exceed
 * the request limits.
 */
import {
  type HeldShare,
  limitsWithout,
  type ObservedShare,
  type RequestLimits,
  shareSize,
  startedShares,
  WorkerShares,
} from '../../../src/account/worker-shares.ts';
import type { Random } from '../../../src/base/random.ts';

interface SimulatedJob {
  readonly held: HeldShare;
  deletedAtMs: number | undefined;
  isOver: boolean;
  pods: number;
}

/** State of all Jobs at one point in time. */
interface Snapshot {
  readonly atMs: number;
  readonly number: number;
  readonly jobs: ReadonlyMap<string, Readonly<SimulatedJob>>;
}

export interface ShareHistory {
  readonly maxWorkers: number;
}

const user = 'user';
const steps = 200;
/** Maximum delay in ms until a watch shows a change. */
const latestWatchMs = 30_000;
/** Time in ms after the deletion of a Job during which the Job controller might still create pods for it. */
const latestPodMs = 10_000;

/**
 * Simulates processes that share a user's request limits, with random events. Throws if the processes together ever
 * exceed the limits.
 */
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
  let maxWorkers = 0;
  let past: Snapshot[] = [];
  let shownJobs = 0;
  let shownPods = 0;
  let shownNames: ReadonlySet<string> = new Set();
  const everShown = new Set<string>();
  let states = 0;
  const snapshot = (): Snapshot => ({
    ...{ atMs: nowMs, number: ++states },
    jobs: new Map([...jobs].map(([name, job]) => [name, { ...job }])),
  });
  /**
   * Randomly chooses a state of the resources that a watch might show now. The state is never older than the last one
   * that the watch showed.
   */
  const shown = (before: number): Snapshot => {
    const possible = past.filter(({ number, atMs }) => number >= before && atMs >= nowMs - latestWatchMs);
    return possible[pick(possible.length)] ?? snapshot();
  };
  const observe = (ofJobs: Snapshot, ofPods: Snapshot) => {
    [shownJobs, shownPods] = [ofJobs.number, ofPods.number];
    shownNames = new Set(
      [...ofJobs.jobs].flatMap(([job, { deletedAtMs }]) => (deletedAtMs === undefined ? [job] : [])),
    );
    for (const name of shownNames) everShown.add(name);
    shares.observe(observed(ofJobs, ofPods), nowMs);
  };
  const any = () => [...jobs.values()][pick(jobs.size)];
  const events: readonly (() => void)[] = [
    () => {
      const wanted = {
        user,
        workers: 1 + pick(3),
        share: size?.share ?? { requestsPerSecond: 1, maxConcurrentRequests: 2 },
      };
      // Sometimes gives the new Job the name of a deleted Job, as when an export is resumed.
      const gone = [...everShown].filter((job) => jobs.get(job)?.deletedAtMs !== undefined && !shownNames.has(job));
      const name = random.next() < 0.3 ? (gone[pick(gone.length)] ?? `job-${++made}`) : `job-${++made}`;
      const held = shares.reserve(name, name, wanted, limits);
      if (!held) return;
      if ((jobs.get(name)?.pods ?? 0) > 0) throw new Error(`${name} has a share while pods of its former Job run`);
      if (random.next() < 0.2) shares.cancel(name);
      else {
        shares.start(name);
        everShown.delete(name);
        jobs.set(name, { held, deletedAtMs: undefined, isOver: false, pods: 0 });
      }
    },
    () => {
      const job = any();
      if (!job || job.isOver || nowMs - (job.deletedAtMs ?? nowMs) > latestPodMs) return;
      job.pods = Math.min(job.pods + 1 + pick(3), job.held.workers);
    },
    () => {
      const job = any();
      if (job && job.pods > 0) job.pods--;
    },
    () => {
      const job = any();
      if (job && job.pods === 0) job.isOver = true;
    },
    // The pods of a deleted Job keep running for a while.
    () => {
      const job = any();
      if (job) job.deletedAtMs ??= nowMs;
    },
    () => observe(shown(shownJobs), shown(shownPods)),
    // A new operator cannot list Jobs that were deleted before it started. The test assumes that such Jobs create no
    // more pods.
    () => {
      shares = new WorkerShares();
      observe(snapshot(), snapshot());
      for (const job of jobs.values()) if (job.deletedAtMs !== undefined) job.isOver = true;
    },
    () => {
      nowMs += pick(20_000);
      // The watches show each state within 30 s.
      observe(shown(shownJobs), shown(shownPods));
    },
  ];
  for (let step = 0; step < steps; step++) {
    events[pick(events.length)]?.();
    past = [...past.filter(({ atMs }) => atMs >= nowMs - latestWatchMs), snapshot()];
    const running = [...jobs.values()].filter(({ pods }) => pods > 0);
    const workers = running.reduce((sum, { pods }) => sum + pods, 0);
    maxWorkers = Math.max(maxWorkers, workers);
    const operator = limitsWithout(limits, startedShares(shares.byUser().get(user)));
    for (const name of ['requestsPerSecond', 'maxConcurrentRequests'] as const) {
      const used = running.reduce((sum, { pods, held }) => sum + pods * held.share[name], operator[name]);
      if (used > limits[name] + 1e-9) throw new Error(`step ${step}: ${name} add up to ${used} of ${limits[name]}`);
    }
    if (operator.requestsPerSecond < 1 || operator.maxConcurrentRequests < 2) {
      throw new Error(`step ${step}: the operator keeps ${JSON.stringify(operator)}`);
    }
  }
  return { maxWorkers };
}

/**
 * Returns the shares of the request limits that an operator counts as used: the shares of running Jobs, and of running
 * pods whose Job has been deleted.
 */
function observed(ofJobs: Snapshot, ofPods: Snapshot): readonly ObservedShare[] {
  const names = new Set([...ofJobs.jobs.keys(), ...ofPods.jobs.keys()]);
  return [...names].flatMap((job): readonly ObservedShare[] => {
    const known = ofJobs.jobs.get(job);
    const { pods = 0, held } = ofPods.jobs.get(job) ?? {};
    if (known && known.deletedAtMs === undefined) {
      return [{ job, exportUid: job, held: known.held, hasEnded: known.isOver && pods === 0 }];
    }
    return held && pods > 0 ? [{ job, exportUid: job, held, hasEnded: false }] : [];
  });
}
