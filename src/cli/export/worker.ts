/**
 * Worker: `logfleet export` in a pod of a Kubernetes Job. It reads Secrets from mounted folders, and writes its result
 * to the container's termination message. Its exit status tells Kubernetes whether another pod may succeed.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { RequestLimits } from '../../account/worker-shares.ts';
import { findCondition, reasons } from '../../api/conditions.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { systemCode } from '../../base/errors.ts';
import { SecretText } from '../../base/secret-text.ts';
import { needsPersonStatus, workerVariables } from '../../export/jobs/worker-environment.ts';
import { renderReport, type WorkerReport } from '../../export/jobs/worker-report.ts';
import type { WorkerIndex } from '../../export/work/worker-segments.ts';
import type { Host, SecretReader } from '../../host/host.ts';
import { connectToCluster } from '../../host/kubernetes/cluster-connection.ts';
import { type CommandContext, exitStatus } from '../command/context.ts';
import { UsageError } from '../command/usage-error.ts';
import { readPlainCluster } from '../resources/plain-cluster.ts';
import { WorkerProgress, type WorkerProgressOptions } from './worker-progress.ts';

type ProgressPorts = Pick<WorkerProgressOptions, 'clock' | 'log'>;

export interface Worker {
  readonly limits: RequestLimits;
  /** User to whose limits the worker's share belongs. */
  readonly user: string;
  readonly secrets: SecretReader;
  readonly workerIndex: WorkerIndex;
  /**
   * Creates the object that writes the export's progress to the status. Resolves to undefined if the pod has no token
   * for the API server.
   */
  progressOf(resource: SearchExport, host: Host, ports: ProgressPorts): Promise<WorkerProgress | undefined>;
  /** Writes the worker's final report to the container's termination message. Returns the exit status. */
  end(ended: SearchExport): number;
}

/** Returns the worker that environment variables define. Returns undefined outside an export's Job. */
export function workerOf({ env }: Pick<CommandContext, 'env'>): Worker | undefined {
  const file = env[workerVariables.report];
  if (!file) return undefined;
  const limits = {
    requestsPerSecond: positive(env, workerVariables.requestsPerSecond),
    maxConcurrentRequests: positive(env, workerVariables.maxConcurrentRequests),
  };
  const workerIndex = workerIndexIn(env);
  const secrets = folderSecrets(env[workerVariables.secrets] ?? '');
  return {
    ...{ limits, secrets, workerIndex },
    user: env[workerVariables.user] ?? '',
    progressOf: async (resource, host, { clock, log }) => {
      const [job, exportUid] = [env[workerVariables.job], env[workerVariables.exportUid]];
      const plain = await readPlainCluster({ environment: env });
      if (!job || !exportUid || !plain) return undefined;
      const { api } = await connectToCluster({ plain });
      const worker = { index: workerIndex.index, job, exportUid };
      return new WorkerProgress({ host, resource, worker, api, clock, log });
    },
    end: (ended) => {
      const report = reportOf(ended);
      writeFileSync(file, renderReport(report));
      return report.end === 'complete' ? exitStatus.ok : needsPersonStatus;
    },
  };
}

/** Returns the index of this worker, and the number of workers. */
function workerIndexIn(env: CommandContext['env']): WorkerIndex {
  const workers = positive(env, workerVariables.workers);
  const index = Number(env[workerVariables.index]);
  if (Number.isInteger(index) && index >= 0 && index < workers) return { index, workers };
  throw new UsageError(
    `the environment variable ${workerVariables.index} must be a whole number, at least 0 and below ${workers}`,
  );
}

function positive(env: CommandContext['env'], name: string): number {
  const value = Number(env[name]);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new UsageError(`the environment variable ${name} must be a number above 0, such as 2`);
}

/** Reads mounted Secrets: one folder for each Secret, and one file for each key. */
function folderSecrets(folder: string): SecretReader {
  return {
    get: async ({ name }) => {
      const place = path.join(folder, name);
      // Kubernetes stores the files of a mounted Secret in folders whose names begin with `..`. The names of the links
      // to these files are the Secret's keys.
      const keys = namesIn(place)?.filter((key) => !key.startsWith('..'));
      return keys && new Map(keys.map((key) => [key, new SecretText(readFileSync(path.join(place, key), 'utf8'))]));
    },
  };
}

function namesIn(folder: string): readonly string[] | undefined {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns the report about a complete, failed or stalled export. */
export function reportOf({ status }: SearchExport): WorkerReport {
  const has = (type: 'Complete' | 'Failed') => findCondition(status?.conditions, type) !== undefined;
  const ready = findCondition(status?.conditions, 'Ready');
  const end = has('Complete') ? 'complete' : has('Failed') ? 'failed' : 'stalled';
  const { reason = reasons.internalError, message = 'The export has no status.' } = ready ?? {};
  return { end, reason, message, status: { ...status } };
}
