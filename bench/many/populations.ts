/** Sets of thousands of resources. The benchmark measures the operator with each set. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { isoSeconds } from '../../src/base/time-text.ts';
import type { SimulatorProcess } from '../simulator-process.ts';
import type { ClusterObjects, Plural, WrittenStatus } from './cluster-objects.ts';
import { MeasuredOperator, type MeasuredOperatorOptions } from './operator-process.ts';

export interface Population {
  readonly title: string;
  readonly plural: Plural;
  /** True if the Secret that the resources use exists. */
  readonly hasSecret: boolean;
  readonly make: (index: number) => object;
  /** Function that brings all resources to their final state. Absent if the operator does this on its own. */
  readonly finish?: (names: readonly string[], place: FinishingPlace) => Promise<void>;
}

export interface FinishingPlace {
  readonly objects: ClusterObjects;
  readonly operator: MeasuredOperatorOptions;
}

export const populationNames = ['paused', 'complete', 'schedules', 'policies', 'waiting'] as const;
export type PopulationName = (typeof populationNames)[number];

const secretName = 'log-service';
const version = '19.500-1';
const lookEveryMs = 500;
const looks = 240;
const exportRange = { from: '2026-10-01T00:00:00Z', to: '2026-10-01T01:00:00Z' } as const;

const exportSpec = {
  credentialsSecretRef: { name: secretName },
  query: '*',
  timeRange: exportRange,
  destination: { volume: { name: 'exports' } },
};

export const populations: Readonly<Record<PopulationName, Population>> = {
  paused: {
    title: 'paused exports on a volume',
    plural: 'searchexports',
    hasSecret: true,
    make: (index) => searchExport(index, { paused: true }),
  },
  complete: {
    title: 'complete exports on a volume',
    plural: 'searchexports',
    hasSecret: true,
    make: (index) => searchExport(index, {}),
    finish: completeAll,
  },
  schedules: {
    title: 'schedules without due runs',
    plural: 'searchexportschedules',
    hasSecret: true,
    make: schedule,
  },
  policies: {
    title: 'policies for one account, each with one collector at the target version',
    plural: 'collectorversionpolicies',
    hasSecret: true,
    make: policy,
  },
  waiting: {
    title: 'exports that wait for a missing Secret',
    plural: 'searchexports',
    hasSecret: false,
    make: (index) => searchExport(index, {}),
  },
};

export function nameOf(index: number): string {
  return `many-${String(index).padStart(6, '0')}`;
}

export function scenarioFor(count: number): Scenario {
  return {
    builds: ['19.200-1', version],
    groups: { web: { count, name: 'web-######', version } },
    logs: { messages: 10, from: Date.parse(exportRange.from), to: Date.parse(exportRange.to) },
  };
}

export async function makeSecret(objects: ClusterObjects, simulator: SimulatorProcess): Promise<void> {
  const { baseURL, accessId, accessKey, caFile } = simulator;
  const members = { baseURL, accessId, accessKey, 'ca.crt': readFileSync(caFile, 'utf8') };
  await objects.makeSecret(secretName, members);
}

function searchExport(index: number, more: object): object {
  return {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'SearchExport',
    metadata: { name: nameOf(index) },
    spec: { ...exportSpec, ...more },
  };
}

/** Returns a SearchExportSchedule that starts no runs during the measurement. */
function schedule(index: number): object {
  const { timeRange: _, ...spec } = exportSpec;
  return {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'SearchExportSchedule',
    metadata: { name: nameOf(index) },
    spec: { schedule: '0 0 31 12 *', template: { spec: { ...spec, byReceiptTime: true } } },
  };
}

function policy(index: number): object {
  return {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'CollectorVersionPolicy',
    metadata: { name: nameOf(index) },
    spec: {
      credentialsSecretRef: { name: secretName },
      target: { version },
      selector: { matchNames: [`web-${String(index + 1).padStart(6, '0')}`] },
    },
  };
}

/**
 * Completes all exports. The operator runs only the first export. The benchmark then copies the status of this export
 * to all others.
 */
async function completeAll(names: readonly string[], { objects, operator }: FinishingPlace): Promise<void> {
  const [first = '', ...others] = names;
  await objects.makeAll('searchexports', [searchExport(0, {})]);
  const status = await completed(first, objects, operator);
  await objects.makeAll(
    'searchexports',
    others.map((_, index) => searchExport(index + 1, {})),
  );
  await objects.giveStatus('searchexports', others, changedNow(status));
}

/**
 * Returns a copy of the status in which all conditions have the current time. Otherwise, the operator would ignore the
 * conditions, because they would be older than their resource.
 */
function changedNow({ conditions = [], ...status }: WrittenStatus): WrittenStatus {
  const lastTransitionTime = isoSeconds(Date.now() + 1_000);
  return { ...status, conditions: conditions.map((condition) => ({ ...condition, lastTransitionTime })) };
}

async function completed(
  name: string,
  objects: ClusterObjects,
  operator: MeasuredOperatorOptions,
): Promise<WrittenStatus> {
  const process = await MeasuredOperator.start({ ...operator, profiles: undefined });
  try {
    for (let look = 0; look < looks; look++) {
      const status = await objects.status('searchexports', name);
      if (status?.conditions?.some(({ type }) => type === 'Complete')) return status;
      await delay(lookEveryMs);
    }
    throw new Error(`export ${name} has not completed`);
  } finally {
    await process.stop();
  }
}
