/** Runs an export's workers as processes, with the files and environment variables that a Kubernetes Job provides. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { userIdOf } from '../../../src/account/budgets.ts';
import { volumeRoot } from '../../../src/destination/export-layout.ts';
import { workerManifest } from '../../../src/export/jobs/job-manifest.ts';
import { workerVariables } from '../../../src/export/jobs/worker-environment.ts';
import { readReport } from '../../../src/export/jobs/worker-report.ts';
import { exportOf } from '../../unit/export/sample-view.ts';
import type { Start } from './end-to-end.ts';
import type { ExportPlace } from './exports.ts';
import type { Program } from './program.ts';
import { logs, type Tenant } from './simulator.ts';

export interface WorkerPodsOptions {
  readonly workers?: number;
  readonly requestsPerSecond?: number;
  readonly maxConcurrentRequests?: number;
  /** Fields of the export's spec. By default, all messages are exported to a persistent volume claim. */
  readonly spec?: object;
}

export class WorkerPods {
  readonly folder: string;
  readonly #options: Required<WorkerPodsOptions>;
  readonly #tenant: Pick<Tenant, 'env' | 'secret'>;
  readonly #start: Start;

  /** Creates the pods' files in an empty folder. */
  constructor(folder: string, tenant: Pick<Tenant, 'env' | 'secret'>, start: Start, options: WorkerPodsOptions = {}) {
    this.folder = folder;
    this.#options = { workers: 1, requestsPerSecond: 4, maxConcurrentRequests: 8, spec: {}, ...options };
    this.#tenant = tenant;
    this.#start = start;
    const secret = join(folder, 'secrets', 'log-service');
    mkdirSync(secret, { recursive: true });
    mkdirSync(join(folder, 'claim'));
    for (const [key, value] of Object.entries(tenant.secret)) writeFileSync(join(secret, key), `${value}\n`);
    const timeRange = { from: logs.from, to: logs.to };
    const destination = { persistentVolumeClaim: { claimName: 'audit' } };
    const resource = exportOf({ execution: { mode: 'Job' }, timeRange, destination, ...this.#options.spec });
    writeFileSync(join(folder, 'export.json'), workerManifest(resource));
  }

  /** Destination of the export. */
  get place(): Pick<ExportPlace, 'settings'> {
    const directory = join(this.folder, 'claim');
    return { settings: (namespace) => ({ kind: 'volume', directory, root: volumeRoot(namespace, '') }) };
  }

  /** Starts a worker as the pod with this index. Variables in `env` replace the pod's environment variables. */
  start(index = 0, env: Readonly<Record<string, string>> = {}): Promise<Program> {
    const { workers, requestsPerSecond, maxConcurrentRequests } = this.#options;
    const { baseURL = '', accessId = '' } = this.#tenant.secret;
    return this.#start(['export', 'export.json', '--log-format=json', '--log-level=info', '--volume=claim=claim'], {
      cwd: this.folder,
      env: {
        [workerVariables.report]: this.#reportOf(index),
        [workerVariables.secrets]: join(this.folder, 'secrets'),
        [workerVariables.user]: userIdOf({ serviceId: baseURL, user: accessId }),
        [workerVariables.workers]: String(workers),
        [workerVariables.index]: String(index),
        [workerVariables.requestsPerSecond]: String(requestsPerSecond),
        [workerVariables.maxConcurrentRequests]: String(maxConcurrentRequests),
        ...env,
      },
    });
  }

  report(index = 0) {
    return readReport(readFileSync(this.#reportOf(index), 'utf8'));
  }

  #reportOf(index: number): string {
    return join(this.folder, `report-${index}`);
  }
}
