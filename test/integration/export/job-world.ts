/** Simulates an operator with one export in a Kubernetes Job, and the Kubernetes controllers that run the Job. */
import { expect } from 'vitest';
import { JobController } from '../../support/job-controller.ts';
import { ExportWorld, type ExportWorldOptions } from './export-world.ts';

const claim = { persistentVolumeClaim: { claimName: 'audit', path: 'logs' } };
export const inJob = { execution: { mode: 'Job' }, destination: claim };

export function jobWorld(options: ExportWorldOptions = {}) {
  const world = new ExportWorld({ workerImage: 'logfleet:test', ...options });
  const controller = new JobController(world.world, world.exports.options);
  const objects = (collection: string) => world.world.api.store.objects(collection);
  return { world, controller, jobs: () => objects('batch/v1/jobs'), pods: () => objects('v1/pods') };
}

/** Returns the exit code and the report of a pod that has stopped because a user must correct something. */
export const stalledPod = (reason: string, end = 'stalled') => {
  const message = 'A person must correct something.';
  return { exitCode: 3, message: JSON.stringify({ end, reason, message, status: {} }) };
};

/**
 * Starts an export whose pods end with this reason and the result `end` until `correct` is called. Waits until the
 * status shows the reason.
 */
export async function stalledWorld(reason: string, options: ExportWorldOptions = {}, end = 'stalled') {
  const made = jobWorld(options);
  const { world, controller } = made;
  let isWrong = true;
  let podsStarted = 0;
  controller.onPod = () => {
    podsStarted++;
    return isWrong ? stalledPod(reason, end) : undefined;
  };
  world.add(inJob);
  const operator = world.start();
  expect(await world.untilReason(reason)).toBe(true);
  const correct = () => {
    isWrong = false;
  };
  return { ...made, operator, correct, podsStarted: () => podsStarted };
}

/** Starts an export whose pods fail until `correct` is called. Waits until the export has failed. */
export function failedWorld() {
  return stalledWorld('MaxMessagesReached', {}, 'failed');
}

/**
 * Makes the next API server request of this kind fail. Returns a function that reports whether a request has failed.
 */
export function failOnce({ world }: ExportWorld, wantedMethod: string, wantedCollection: string): () => boolean {
  let hasFailed = false;
  world.api.onRequest = ({ method, collection }) => {
    if (hasFailed || method !== wantedMethod || collection !== wantedCollection) return undefined;
    hasFailed = true;
    return { kind: 'status', status: 500, when: 'before' };
  };
  return () => hasFailed;
}
