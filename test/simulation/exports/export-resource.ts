/** The export resource of a simulated run, with the changes made by users and every status written by the operator. */
import { annotations } from '../../../src/api/annotations.ts';
import { findCondition } from '../../../src/api/conditions.ts';
import type { SearchExport } from '../../../src/api/kinds.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { MemoryApiServer } from '../../support/memory-api-server.ts';
import { serviceOrigin } from '../../support/service-world.ts';
import { exportDefaults, exportsPath, secretManifest, secretsPath } from '../../support/world.ts';
import { ApiFaults } from '../api-faults.ts';
import type { Chance } from '../chance.ts';
import type { ReportedState } from './history-process.ts';
import type { ExportHistoryPlan } from './plan.ts';

export interface ExportStatusRecord {
  readonly atMs: number;
  readonly status: NonNullable<SearchExport['status']>;
  /** Whether the export manifest existed when the status was written. */
  readonly hasManifest: boolean;
}

export interface ExportResourceOptions {
  readonly plan: ExportHistoryPlan;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly basePath: string;
  readonly hasManifest: () => boolean;
  readonly note: (what: string) => void;
}

const path = `${exportsPath}/audit`;

export class ExportResource {
  readonly api: MemoryApiServer;
  readonly statuses: ExportStatusRecord[] = [];
  #isCalm = false;
  #requests = 0;

  constructor({ plan, clock, chance, basePath, hasManifest, note }: ExportResourceOptions) {
    this.api = new MemoryApiServer({ clock, random: seededRandom(plan.seed + 1) });
    const faults = new ApiFaults(plan.apiFaults, chance);
    this.api.onRequest = () => (this.#isCalm ? undefined : faults.ofRequest(clock.monotonic()));
    this.api.onWatchEvent = () => (this.#isCalm ? undefined : faults.ofWatch(clock.monotonic()));
    const publish = this.api.store.onEvent;
    this.api.store.onEvent = (event) => {
      const { status } = event.object as unknown as SearchExport;
      if (event.collection.endsWith('searchexports') && status) {
        this.statuses.push({ atMs: clock.monotonic(), status, hasManifest: hasManifest() });
        note(
          `status ${JSON.stringify(status.summary)} ${status.conditions?.map((one) => `${one.type}=${one.reason}`)}`,
        );
      }
      publish(event);
    };
    this.#addSecret(basePath);
    this.api.create(exportsPath, {
      apiVersion: 'logfleet.dev/v1alpha1',
      kind: 'SearchExport',
      metadata: { name: 'audit', namespace: 'logging' },
      spec: specOf(plan),
    });
  }

  get reported(): ReportedState | undefined {
    const { status } = this.#resource;
    if (!status) return undefined;
    const isComplete = findCondition(status.conditions, 'Complete') !== undefined;
    const ready = findCondition(status.conditions, 'Ready');
    return {
      isComplete,
      isStalled: findCondition(status.conditions, 'Stalled')?.status === 'True',
      unproven: isComplete
        ? []
        : (status.incomplete ?? []).map(({ reason: message }) => ({ reason: reasonOf(message), message })),
      text: `${ready?.reason}: ${ready?.message}`,
    };
  }

  calm(): void {
    this.#isCalm = true;
  }

  pause(paused: boolean): void {
    this.api.patch(path, { spec: { paused } });
  }

  /** Sets the annotation by which a user requests a check of all exported data. */
  askAgain(): void {
    this.api.patch(path, { metadata: { annotations: { [annotations.requestedAt]: `time ${++this.#requests}` } } });
  }

  get isHeard(): boolean {
    const asked = this.#resource.metadata.annotations?.[annotations.requestedAt];
    return asked === this.#resource.status?.lastHandledReconcileAt;
  }

  get #resource(): SearchExport {
    return this.api.get(path) as unknown as SearchExport;
  }

  #addSecret(basePath: string): void {
    const text = { baseURL: `${serviceOrigin}${basePath}`, accessId: 'id-first', accessKey: 'key' };
    this.api.create(secretsPath, secretManifest('log-service', text));
  }
}

function reasonOf(message: string): string {
  if (/^the millisecond .* has .* rows, but the search returned only /.test(message)) return 'MillisecondTooDense';
  return message.includes('this query cannot be searched in shorter intervals') ? 'LimitReached' : message;
}

function specOf(plan: ExportHistoryPlan): object {
  return {
    ...exportDefaults,
    query: plan.query,
    timeRange: { from: String(plan.fromMs), to: String(plan.toMs) },
    byReceiptTime: plan.byReceiptTime,
    results: plan.aggregation ? 'Records' : 'Messages',
    parallelism: plan.parallelism,
    output: { ...exportDefaults.output, ...plan.output, maxPartSize: String(plan.maxPartBytes) },
    incompletePolicy: plan.incompletePolicy,
    proof: plan.proof,
    settleDelay: `${plan.countDelayMs / 1_000}s`,
  };
}
