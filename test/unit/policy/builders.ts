import type {
  CollectorVersionPolicySpec,
  CollectorVersionPolicyStatus,
  Stage,
} from '../../../src/api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy, ObjectMeta } from '../../../src/api/kinds.ts';
import type { Instant } from '../../../src/base/clock.ts';
import type { Row } from '../../../src/fleet/fleet-rows.ts';
import type { Claimant } from '../../../src/fleet/ownership.ts';
import type { Evidence } from '../../../src/policy/attempts/attempt.ts';
import { policySettings } from '../../../src/policy/attempts/settings.ts';
import type {
  Attempt,
  Ending,
  EndingKind,
  Entry,
  LedgerHeader,
  StageRecord,
} from '../../../src/policy/ledger/ledger.ts';
import { type Counts, emptyCounts } from '../../../src/policy/members/state-counts.ts';
import type { Collector, UpgradeTask } from '../../../src/service/collectors/upgrade-service.ts';

export const settings = policySettings;

export const oldVersion = '19.100-1';
export const target = '19.200-1';
export const newerVersion = '19.300-1';

/** Wall-clock time in ms at which the tests' monotonic clock is 0. */
export const epochMs = Date.UTC(2026, 10, 1);

export function moment(monotonicMs: number): Instant {
  return { monotonicMs, wallMs: epochMs + monotonicMs };
}

export function collector(id: string, more: Partial<Collector> = {}): Collector {
  return {
    id,
    name: `web-${id}`,
    hostName: undefined,
    timeZone: undefined,
    ephemeral: undefined,
    sourceSyncMode: undefined,
    collectorType: 'Installable',
    collectorVersion: oldVersion,
    osName: undefined,
    osVersion: undefined,
    osArch: undefined,
    lastSeenAliveMs: undefined,
    alive: true,
    ...more,
  };
}

/** Returns collector 1's row in a collector list. */
export function row(version: string, seenAtMs: number, more: Partial<Collector> = {}): Row {
  return {
    collector: collector('1', { collectorVersion: version, ...more }),
    seenAtMs,
    position: 0,
    formerVersion: undefined,
  };
}

export function attempt(more: Partial<Attempt> = {}): Attempt {
  return {
    number: 1,
    toVersion: target,
    state: 'accepted',
    taskId: more.state === undefined || more.state === 'accepted' ? '77' : undefined,
    ours: true,
    probe: false,
    startedAtMs: epochMs,
    sinceMs: 0,
    needsGrace: false,
    ...more,
  };
}

export function ending(kind: EndingKind, more: Partial<Ending> = {}): Ending {
  return {
    kind,
    toVersion: target,
    taskId: '77',
    message: kind === 'failed' ? 'disk full' : '',
    startedAtMs: epochMs,
    endedAtMs: epochMs,
    sinceMs: 0,
    lastSeenAliveMs: undefined,
    ...more,
  };
}

/** Returns collector 1's ledger entry, without upgrade attempts. */
export function entry(more: Partial<Entry> = {}): Entry {
  return {
    collectorId: '1',
    before: oldVersion,
    used: 1,
    drifts: 0,
    isRollback: false,
    open: undefined,
    ending: undefined,
    ...more,
  };
}

export function openEntry(more: Partial<Attempt> = {}, rest: Partial<Entry> = {}): Entry {
  return entry({ open: attempt(more), ...rest });
}

/** Returns a ledger entry of another collector. */
export function entryOf<E extends Entry>(collectorId: string, ofFirst: E): E {
  return { ...ofFirst, collectorId };
}

export function endedEntry(kind: EndingKind, more: Partial<Ending> = {}, rest: Partial<Entry> = {}): Entry {
  return entry({ ending: ending(kind, more), ...rest });
}

export function evidence(more: Partial<Evidence> = {}): Evidence {
  return {
    row: undefined,
    posted: undefined,
    task: undefined,
    inFlight: false,
    observable: true,
    showsOrigin: true,
    sweptSinceMs: 0,
    ...more,
  };
}

export function task(more: Partial<UpgradeTask> = {}): UpgradeTask {
  return {
    id: '77',
    collectorId: '1',
    toVersion: target,
    status: 'progressing',
    statusCode: 6,
    requestedMs: undefined,
    message: undefined,
    ...more,
  };
}

export function header(more: Partial<LedgerHeader> = {}): LedgerHeader {
  return {
    service: 'https://logs.test/api',
    rolloutId: `1-${target}`,
    rolloutNumber: 1,
    target,
    startedAtMs: epochMs,
    completedAtMs: undefined,
    attempts: 0,
    tally: { number: 0, finished: 0, failed: 0 },
    history: [],
    ...more,
  };
}

/** Returns a stage, as in the spec, without a soak. */
export const stageOf = (name: string, more: Partial<Stage> = {}): Stage => ({ name, soakDuration: '0s', ...more });

/** Returns the ledger record of a stage that has just started. */
export function stageRecord(name: string, more: Partial<StageRecord> = {}): StageRecord {
  return { name, startedAtMs: epochMs, soakMs: 0, tally: { finished: 0, failed: 0 }, ...more };
}

/** Returns a policy spec with the CRD's defaults, except for the limits, which are too high to have an effect. */
export function spec(more: Partial<CollectorVersionPolicySpec> = {}): CollectorVersionPolicySpec {
  return {
    credentialsSecretRef: { name: 'log-service' },
    target: { version: target },
    allowDowngrade: false,
    selector: {},
    priority: 0,
    mode: 'Enforce',
    paused: false,
    resyncInterval: '5m',
    offlinePolicy: 'Skip',
    strategy: { maxInProgress: 1000, order: 'OldestVersionFirst' },
    retryPolicy: { limit: 2, backoff: { duration: '5m', factor: 2, cap: '1h' } },
    ...more,
  };
}

export interface PolicyParts {
  readonly spec?: Partial<CollectorVersionPolicySpec>;
  readonly metadata?: Partial<ObjectMeta>;
  readonly status?: CollectorVersionPolicyStatus;
}

export function policy({ spec: specParts, metadata, status }: PolicyParts = {}): CollectorVersionPolicy {
  return {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'CollectorVersionPolicy',
    metadata: {
      name: 'production',
      namespace: 'logging',
      uid: 'policy-a',
      generation: 3,
      resourceVersion: '10',
      creationTimestamp: '2026-11-01T00:00:00Z',
      annotations: {},
      ...metadata,
    },
    spec: spec(specParts),
    ...(status === undefined ? {} : { status }),
  };
}

export function claimant(uid: string, more: Partial<Claimant> = {}): Claimant {
  return {
    uid,
    namespace: 'logging',
    name: uid,
    priority: 0,
    creationTimestamp: '2026-11-01T00:00:00Z',
    enforcing: true,
    targetVersion: target,
    ...more,
  };
}

export function counts(more: Partial<Counts> = {}): Counts {
  return { ...emptyCounts(), ...more };
}
