/** Determines the state of an export's Kubernetes Job from the Job and its pods. */
import { annotations } from '../../api/annotations.ts';
import { reasons } from '../../api/conditions.ts';
import type { WorkerStatus } from '../../api/generated/search-export.ts';
import { counted, wordFor } from '../../base/number-text.ts';
import {
  type ContainerState,
  completionIndexLabel,
  type KubernetesCondition,
  type WorkerJob,
  type WorkerPod,
} from '../../host/worker-jobs.ts';
import { readReport, type WorkerReport } from './worker-report.ts';

/** Text that says when logfleet starts another Job, and how to start one immediately. */
export const againText = `Until the problem is solved, logfleet starts another Job at least once an hour. To start one now, give the annotation ${annotations.requestedAt} a new value.`;

/**
 * Reasons of stalled exports that do not get another Job automatically. A user must change the spec, or create another
 * SearchExport.
 */
const reasonsOfSpec: ReadonlySet<string> = new Set([
  ...[reasons.invalidSpec, reasons.queryRefused, reasons.rangeRefused, reasons.notAnAggregation],
  ...[reasons.rawMessagesNotAvailable, reasons.receiptTimeMissing, reasons.countMissing],
  reasons.destinationUnsupported,
]);

/** Returns true if an export that is stalled for this reason gets another Job automatically. */
export function isRepeated(reason: string): boolean {
  return !reasonsOfSpec.has(reason);
}

export interface WorkerJobState {
  /** `running`: a pod is running. `waiting`: no pod is running yet. `complete` and `failed`: the Job has ended. */
  readonly phase: 'running' | 'waiting' | 'complete' | 'failed';
  /** Reason and message shown in the export's status until a pod has reported a result. */
  readonly reason: string;
  readonly message: string;
  /**
   * Report of one of the Job's pods, from which the Job's result is taken. Undefined while the Job is running, or if no
   * pod has sent a report.
   */
  readonly report: WorkerReport | undefined;
  readonly failedPods: number;
  /** True if none of the running pods can continue. */
  readonly isHeldUp?: boolean;
}

/**
 * Determines the state of a Kubernetes Job. `workers` contains the reports that its pods wrote to the export's status.
 */
export function readJob(
  job: WorkerJob,
  pods: readonly WorkerPod[],
  workers: readonly WorkerStatus[] = [],
): WorkerJobState {
  const { status } = job;
  const failedPods = status.failed ?? 0;
  const name = job.metadata.name;
  const end = endOf(job);
  if (end) {
    const reports = pods.flatMap((pod) => readReport(terminationOf(pod)?.message) ?? []);
    // A single report of a complete export is sufficient, even if other pods failed.
    const complete = reports.find((report) => report.end === 'complete');
    const phase = complete || end.type === 'Complete' ? 'complete' : 'failed';
    const isLate = phase === 'failed' && end.reason === 'DeadlineExceeded';
    const report = complete ?? (phase === 'failed' && !isLate ? reports[0] : undefined);
    // The Job still counts as running until its pods have ended, because their reports may not have arrived yet.
    if (!report && !isLate && !pods.every(isPodEnded)) {
      const message = `The Kubernetes Job ${name} has ended, and its pods are terminating.`;
      return { phase: 'running', reason: reasons.exporting, message, report, failedPods };
    }
    const reason = isLate ? reasons.deadlineExceeded : reasons.jobFailed;
    return { phase, reason, message: endText(name, end, isLate), report, failedPods };
  }
  const common = { report: undefined, failedPods };
  const tries = failedPods === 0 ? '' : ` ${counted(failedPods, 'earlier pod')} of the Job failed.`;
  const { parallelism = 1 } = job.spec;
  const running = pods.filter((pod) => pod.status.phase === 'Running');
  const count = running.length;
  if (count > 0) {
    const rest = count < parallelism ? ` One more pod is not running yet: ${waitText(job, pods)}.` : '';
    const held = heldWorkers(name, running, workers);
    const [first] = held;
    const obstacle = first ? ` Pod ${first.index} cannot continue: ${first.obstacle.message}` : '';
    if (first && held.length === count) {
      const { reason } = first.obstacle;
      const message = `No pod of the Kubernetes Job ${name} can continue.${obstacle}${rest}${tries}`;
      return { phase: 'running', reason, message, isHeldUp: true, ...common };
    }
    const workingPods = parallelism === 1 ? 'A pod' : `${count} of ${parallelism} pods`;
    const message = `${workingPods} of the Kubernetes Job ${name} ${wordFor(count, 'is', 'are')} exporting rows.${obstacle}${rest}${tries}`;
    return { phase: 'running', reason: reasons.exporting, message, ...common };
  }
  const message = `The Kubernetes Job ${name} has no running pod: ${waitText(job, pods)}.${tries}`;
  const isEnding = pods.every(isPodEnded) && pods.some(isComplete) && !job.spec.suspend;
  if (isEnding) return { phase: 'running', reason: reasons.exporting, message, ...common };
  return { phase: 'waiting', reason: reasons.jobPending, message, ...common };
}

type HeldWorker = WorkerStatus & Required<Pick<WorkerStatus, 'obstacle'>>;

/** Returns the running workers that cannot continue, beginning with the worker that stopped first. */
function heldWorkers(
  job: string,
  running: readonly WorkerPod[],
  workers: readonly WorkerStatus[],
): readonly HeldWorker[] {
  const indices = new Set(running.map(({ metadata }) => metadata.labels[completionIndexLabel]));
  return workers
    .filter((worker): worker is HeldWorker => worker.obstacle !== undefined)
    .filter((worker) => worker.job === job && indices.has(String(worker.index)))
    .toSorted((left, right) => Date.parse(left.obstacle.startTime) - Date.parse(right.obstacle.startTime));
}

/** Reports whether the Job and all its pods have ended, so that its request limits are free. */
export function hasEnded(job: WorkerJob | undefined, pods: readonly WorkerPod[]): boolean {
  const isOver = job === undefined || (endOf(job) !== undefined && (job.status.terminating ?? 0) === 0);
  return isOver && pods.every(isPodEnded);
}

/** Returns true if none of the pod's containers can run again. */
export function isPodEnded({ status }: WorkerPod): boolean {
  return status.phase === 'Succeeded' || status.phase === 'Failed';
}

function isComplete({ status }: WorkerPod): boolean {
  return status.phase === 'Succeeded';
}

function endOf({ status }: WorkerJob): KubernetesCondition | undefined {
  return status.conditions?.find(({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True');
}

function terminationOf({ status }: WorkerPod): ContainerState['terminated'] {
  return status.containerStatuses?.find(({ state }) => state?.terminated)?.state?.terminated;
}

function endText(name: string, end: KubernetesCondition, isLate: boolean): string {
  if (isLate) {
    return `The Kubernetes Job ${name} took longer than activeDeadlineSeconds. Finished files are kept. To continue the export, raise activeDeadlineSeconds.`;
  }
  if (end.type === 'Complete') {
    return `The Kubernetes Job ${name} is complete, but none of its pods reported a result. ${againText}`;
  }
  const cause = end.message ? ` (${end.message})` : '';
  return `The Kubernetes Job ${name} failed${cause}. For details, run: kubectl logs job/${name}. ${againText}`;
}

function waitText({ spec, status }: WorkerJob, pods: readonly WorkerPod[]): string {
  if (spec.suspend) return 'the Job is suspended, for example because a queue has not yet admitted it';
  const [pod] = pods.filter((each) => !isPodEnded(each) && each.status.phase !== 'Running');
  if (!pod) {
    if (pods.some(isComplete)) return 'a pod has completed, and Kubernetes is ending the Job';
    return (status.failed ?? 0) > 0 || pods.length > 0
      ? 'Kubernetes will start another pod after a delay'
      : 'Kubernetes has not created a pod yet; kubectl describe shows the reason, for example an exhausted ResourceQuota';
  }
  const unscheduled = pod.status.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  if (unscheduled)
    return `the pod ${pod.metadata.name} has not been scheduled to a node (${unscheduled.message ?? unscheduled.reason ?? 'unknown'})`;
  const waiting = pod.status.containerStatuses?.find(({ state }) => state?.waiting)?.state?.waiting;
  if (!waiting) return `the pod ${pod.metadata.name} is starting`;
  const detail = waiting.message === undefined ? '' : `: ${waiting.message.slice(0, 200)}`;
  return `the pod ${pod.metadata.name} is starting (${waiting.reason ?? 'waiting'}${detail})`;
}
