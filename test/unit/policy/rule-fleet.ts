/**
 * Test data for the rules that forbid upgrades: four collectors, of which only web-9 needs an upgrade. Each test
 * specifies which rules are active.
 */
import { annotations } from '../../../src/api/annotations.ts';
import { reasons } from '../../../src/api/conditions.ts';
import type {
  CollectorVersionPolicySpec,
  Maintenance,
  Stage,
} from '../../../src/api/generated/collector-version-policy.ts';
import { LogfleetError } from '../../../src/base/errors.ts';
import { minuteMs } from '../../../src/base/time-units.ts';
import type { Decision } from '../../../src/policy/decide.ts';
import type { Entry, LedgerChange, LedgerHeader, RolloutStop, StageRecord } from '../../../src/policy/ledger/ledger.ts';
import { resolveTarget } from '../../../src/policy/rollout/target.ts';
import type { WaitCause } from '../../../src/policy/rollout/wait-cause.ts';
import { waitText } from '../../../src/policy/status/wait-text.ts';
import {
  claimant,
  collector,
  endedEntry,
  epochMs,
  newerVersion,
  oldVersion,
  openEntry,
  type PolicyParts,
  settings,
  stageRecord,
  target,
} from './builders.ts';
import { type ChangedInput, type DecidedWithFigures, decided, PolicyBench } from './policy-bench.ts';

const claims = { kind: 'claims', policy: { namespace: 'a', name: 'b' } } as const;

/** Returns a function that reports whether the status shows this cause of a wait. */
function waitsFor(cause: WaitCause) {
  return ({ essentials }: Decision) => essentials.rollout?.waitingFor?.startsWith(waitText(cause)) === true;
}

/** Returns a function that reports whether the condition `Ready` has this reason. */
function hasReason(reason: string) {
  return ({ health }: Decision) => health.reason === reason;
}

/**
 * Rules that forbid an upgrade of web-9. For each rule, the function reports whether the status shows that the rule
 * applies.
 */
export const blockers = {
  window: waitsFor({ kind: 'window' }),
  'own window': waitsFor({ kind: 'window' }),
  exclusion: waitsFor({ kind: 'exclusion', name: 'freeze' }),
  pause: hasReason(reasons.paused),
  'kill switch': hasReason(reasons.paused),
  deletion: waitsFor({ kind: 'deletion' }),
  'stage gate': waitsFor({ kind: 'stageEnd', stage: 'canary', offline: 0 }),
  approval: waitsFor({ kind: 'approval', stage: 'rest' }),
  soak: waitsFor({ kind: 'soak', stage: 'canary', soakMs: 60 * minuteMs }),
  'failure stop': hasReason(reasons.rolloutStopped),
  abort: hasReason(reasons.aborted),
  'back-off': waitsFor({ kind: 'backOff' }),
  'listing after a failure': waitsFor({ kind: 'versionAfterFailure' }),
  'maxInProgress of all': waitsFor({ kind: 'policyLimit', max: 1 }),
  'maxInProgress of a stage': waitsFor({ kind: 'stageLimit', stage: 'rest', max: 1 }),
  // A collector that is offline after a failed upgrade counts as failed. During a rollback, only the message shows the
  // number of offline collectors.
  offline: ({ figures, health }) =>
    figures.collectors.offline + figures.collectors.failed > 0 || health.message.includes('will be rolled back when'),
  overlap: ({ figures }) => figures.collectors.foreign > 0,
  'claims of others': waitsFor(claims),
  'observe mode': (decision) => hasReason(reasons.observing)(decision) || waitsFor({ kind: 'observeMode' })(decision),
  'build not offered': hasReason(reasons.versionNotOffered),
  'service unusable': hasReason(reasons.serviceUnavailable),
  'full ledger': hasReason(reasons.ledgerFull),
  drift: waitsFor({ kind: 'secondListing' }),
  'target change': ({ figures }) =>
    figures.tasks.some((task) => task.endTime === undefined && task.collector === 'web-9' && task.to === formerTarget),
  'selection change': ({ figures }) => figures.collectors.matched === 3,
} as const satisfies Record<string, (decision: DecidedWithFigures) => boolean>;

export type Blocker = keyof typeof blockers;
export const blockerNames = Object.keys(blockers) as readonly Blocker[];
export type StartRule = Blocker | 'rollback' | "person's retry" | 'age of the build';

export const nowMs = 90 * minuteMs;
/** Version that web-9 runs before the rollout. */
export const formerTarget = '19.150-1';
/** Start of an upgrade attempt that is still running. */
export const justNow = { sinceMs: nowMs - 500 };
/**
 * Time in ms at which an upgrade failed. The collector must still wait for its retry (back-off), but the last collector
 * list was read after the failure (U6).
 */
export const failedMs = nowMs - 2 * settings.graceMs;
const shownMs = nowMs - 1_000;
const problem = new LogfleetError({
  code: 'x.y',
  reason: reasons.serviceUnavailable,
  message: 'It is gone.',
  handling: { kind: 'backoff' },
});

export interface InForce {
  readonly holds: readonly StartRule[];
  readonly over?: readonly StartRule[];
}

class Rules {
  readonly #holds: ReadonlySet<StartRule>;
  readonly #over: ReadonlySet<StartRule>;

  constructor({ holds, over = [] }: InForce) {
    this.#holds = new Set(holds);
    this.#over = new Set(over);
  }

  hold(...some: readonly StartRule[]): boolean {
    return some.some((rule) => this.#holds.has(rule));
  }

  /** Reports whether at least one of the given rules applies in the test case, or applied earlier. */
  have(...some: readonly StartRule[]): boolean {
    return this.hold(...some) || some.some((rule) => this.#over.has(rule));
  }
}

export interface DecisionOutcome extends LedgerChange {
  /** Version of the upgrade that was started for web-9, or undefined if none was started. */
  readonly posted: string | undefined;
  /** Rules that apply according to the status. */
  readonly reported: readonly Blocker[];
  readonly waitingFor: string | undefined;
}

export function outcome(inForce: InForce): DecisionOutcome {
  const rules = new Rules(inForce);
  const { bench, seen } = fleetUnder(rules);
  // Up to three decisions are needed: for the retry, the start of a stage and the start of an upgrade.
  let last = outcomeOf(bench, seen);
  for (let more = 0; more < 2 && last.posted === undefined; more++) {
    bench.write(last);
    last = outcomeOf(bench, seen);
  }
  return last;
}

export function outcomeOf(bench: PolicyBench, seen: ChangedInput): DecisionOutcome {
  const decision = decided(bench, { nowMs, ...seen });
  const { post, header, changes, started } = decision;
  return {
    posted: post.find(({ collectorId }) => collectorId === '9')?.open?.toVersion,
    reported: blockerNames.filter((rule) => blockers[rule](decision)),
    waitingFor: decision.essentials.rollout?.waitingFor,
    header,
    changes,
    started,
  };
}

const channel = { channel: 'Latest', versionPattern: '19.*', minAge: '2h' } as const;

/** While the newest build is too young, the target is the previous build. */
function targetOf(rules: Rules): string {
  if (!rules.have('age of the build')) return target;
  const builds = [target, newerVersion].map((version) => ({ version, latest: version === newerVersion }));
  const wallMs = epochMs + nowMs;
  const seenMs = (version: string) => (version === newerVersion && rules.hold('age of the build') ? wallMs : 0);
  const seenSinceMs = new Map(builds.map(({ version }) => [version, seenMs(version)]));
  const verdict = resolveTarget(channel, builds, { current: target, seenSinceMs, wallMs });
  return verdict.kind === 'offered' ? verdict.version : verdict.kind;
}

function fleetUnder(rules: Rules): { readonly bench: PolicyBench; readonly seen: ChangedInput } {
  const wanted = targetOf(rules);
  const entries = entriesUnder(rules, wanted);
  const inFlight = new Set(entries.filter(({ open }) => open).map(({ collectorId }) => collectorId));
  const others = ['1', '2', '3'].map((id) =>
    collector(id, { collectorVersion: inFlight.has(id) ? oldVersion : wanted, timeZone: 'UTC' }),
  );
  const nine = collector('9', {
    collectorVersion: versionOfNine(rules, wanted),
    alive: !rules.hold('offline'),
    timeZone: 'UTC',
  });
  const header = headerUnder(rules, wanted);
  const parts = { spec: specUnder(rules), header, entries, members: { canary: ['1'] } };
  const bench = new PolicyBench({ ...parts, collectors: others, seenAtMs: shownMs });
  bench.listing.sweptMs = shownMs;
  for (const seenAtMs of looksAtNine(rules)) {
    bench.listing.rows.takePage([nine], seenAtMs, others.length);
    bench.sync();
  }
  if (rules.have('overlap')) {
    bench.ownership.register(claimant('policy-b', { priority: 1 }));
    bench.ownership.claim('policy-b', '9');
    bench.sync();
    if (!rules.hold('overlap')) bench.ownership.unclaim('policy-b', '9');
    bench.sync();
  }
  const metadata: PolicyParts['metadata'] = {
    annotations: rules.hold("person's retry") ? { [annotations.retry]: `1-${wanted}` } : {},
    ...(rules.hold('deletion') && { deletionTimestamp: '2026-11-01T00:00:00Z' }),
  };
  const seen: ChangedInput = {
    pausedForAll: rules.hold('kill switch') ? 'the settings' : undefined,
    notOffered: rules.hold('build not offered') ? 'It offers none.' : undefined,
    problem: rules.hold('service unusable') ? problem : undefined,
    heldBy: heldBy(rules),
    ledgerFull: rules.hold('full ledger'),
    isLedgerWritten: true,
    overlap: rules.hold('overlap') ? { winner: 'logging/policy-b', collectors: 1 } : undefined,
    policy: { metadata },
  };
  return { bench, seen };
}

function heldBy(rules: Rules): WaitCause | undefined {
  if (rules.hold('claims of others')) return claims;
  return rules.hold('service unusable') ? { kind: 'listRead' } : undefined;
}

function specUnder(rules: Rules): Partial<CollectorVersionPolicySpec> {
  const isStaged = rules.have('stage gate', 'approval', 'soak', 'maxInProgress of a stage');
  return {
    paused: rules.hold('pause'),
    mode: rules.hold('observe mode') ? 'Observe' : 'Enforce',
    offlinePolicy: rules.have('offline') ? 'Wait' : 'Skip',
    strategy: {
      maxInProgress: rules.have('maxInProgress of all') ? placesUnder(rules, 'maxInProgress of all') : 1_000,
      order: 'Name',
      ...(isStaged && { stages: stagesUnder(rules) }),
    },
    ...(rules.have('window', 'own window', 'exclusion') && { maintenance: maintenanceUnder(rules) }),
    ...(rules.have('selection change') && {
      exclude: [{ matchNames: [rules.hold('selection change') ? 'web-9' : 'none'] }],
    }),
    ...(rules.have('age of the build') && { target: channel }),
  };
}

/**
 * Returns a value for `maxInProgress`. One upgrade is already running, so the value is 1 if the rule `rule` must forbid
 * another upgrade, otherwise 2.
 */
function placesUnder(rules: Rules, rule: Blocker): number {
  return rules.hold(rule) ? 1 : 2;
}

function stagesUnder(rules: Rules): readonly Stage[] {
  return [
    {
      name: 'canary',
      selector: { matchNames: ['web-1'] },
      soakDuration: rules.have('soak') ? '1h' : '0s',
      maxFailures: 0,
    },
    {
      name: 'rest',
      soakDuration: '0s',
      ...(rules.have('approval') && { approval: 'Required' as const }),
      ...(rules.have('maxInProgress of a stage') && { maxInProgress: placesUnder(rules, 'maxInProgress of a stage') }),
    },
  ];
}

/**
 * Returns maintenance settings for tests that run at 1:30. If a maintenance window must forbid upgrades, it is closed
 * at that time.
 */
function maintenanceUnder(rules: Rules): Maintenance {
  const schedule = (rule: StartRule) => (rules.hold(rule) ? '0 12 * * *' : '0 1 * * *');
  return {
    cutoff: '30m',
    windows: [
      ...(rules.have('window') ? [{ schedule: schedule('window'), duration: '2h', timeZone: 'UTC' }] : []),
      ...(rules.have('own window')
        ? [{ schedule: schedule('own window'), duration: '2h', timeZoneSource: 'Collector' as const }]
        : []),
    ],
    exclusions: rules.have('exclusion')
      ? [
          {
            name: 'freeze',
            startTime: '2026-11-01T00:00:00Z',
            endTime: `2026-11-01T0${rules.hold('exclusion') ? 3 : 1}:00:00Z`,
          },
        ]
      : [],
  };
}

function headerUnder(rules: Rules, wanted: string): Partial<LedgerHeader> {
  const stop = stopUnder(rules);
  const isApproved = rules.have('approval') && !rules.hold('approval');
  return {
    rolloutId: `1-${wanted}`,
    target: wanted,
    stages: [recordUnder(rules), ...restUnder(rules)],
    ...(stop && { stop }),
    ...(isApproved && { approved: ['rest'] }),
    ...(rules.have('selection change') && { selection: 'another' }),
  };
}

function stopUnder(rules: Rules): RolloutStop | undefined {
  if (rules.hold('abort')) return { kind: 'abort', message: 'Aborted by a person.', atMs: 1 };
  if (rules.hold('failure stop')) return { kind: 'failures', message: 'Too many failed', atMs: 1 };
  return rules.hold('rollback') ? { kind: 'rollback', message: 'Too many failed', atMs: 1 } : undefined;
}

/** Returns a list with the ledger record of the last stage (`rest`), or an empty list if this stage has not started. */
function restUnder(rules: Rules): readonly StageRecord[] {
  const isAhead = rules.hold('stage gate', 'approval', 'soak') || !rules.have('maxInProgress of a stage');
  return isAhead ? [] : [stageRecord('rest', { maxInProgress: placesUnder(rules, 'maxInProgress of a stage') })];
}

function recordUnder(rules: Rules): StageRecord {
  const soakMs = rules.have('soak') ? 60 * minuteMs : 0;
  const begun = stageRecord('canary', { soakMs, upgraded: true, maxFailures: 0 });
  if (rules.have('stage gate')) return begun;
  if (!rules.have('soak')) return { ...begun, endedAtMs: epochMs };
  return { ...begun, updatedAtMs: rules.hold('soak') ? epochMs + 60 * minuteMs : epochMs };
}

function entriesUnder(rules: Rules, wanted: string): readonly Entry[] {
  /**
   * Returns the ledger entry of a collector other than web-9. The upgrade of that collector is running or has
   * succeeded.
   */
  const other = (collectorId: string, isOpen: boolean, rest: Partial<Entry> = {}): Entry => ({
    ...(isOpen
      ? openEntry({ ...justNow, toVersion: wanted }, rest)
      : endedEntry('updated', { toVersion: wanted }, rest)),
    collectorId,
  });
  const nine = entryOfNine(rules, wanted);
  return [
    ...(rules.have('stage gate', 'soak') ? [other('1', rules.hold('stage gate'))] : []),
    ...(rules.have('maxInProgress of all') ? [other('2', rules.hold('maxInProgress of all'), { used: 0 })] : []),
    ...(rules.have('maxInProgress of a stage') ? [other('3', rules.hold('maxInProgress of a stage'))] : []),
    ...(nine ? [{ ...nine, collectorId: '9' }] : []),
  ];
}

function entryOfNine(rules: Rules, wanted: string): Entry | undefined {
  if (rules.have('rollback')) {
    if (rules.have('back-off', 'listing after a failure'))
      return endedEntry('failed', { toVersion: oldVersion, sinceMs: failureMs(rules) }, { isRollback: true });
    return endedEntry(rules.hold('drift') ? 'left' : 'updated', { toVersion: wanted }, { before: formerTarget });
  }
  // If the rule `target change` applies, the upgrade of web-9 to the previous target is still running. The ledger
  // therefore has an entry for this upgrade (U12).
  if (rules.hold('target change'))
    return openEntry({ ...justNow, toVersion: formerTarget }, { used: 0, before: undefined });
  if (rules.have('drift')) return endedEntry('updated', { toVersion: wanted });
  if (!rules.have('back-off', 'listing after a failure')) return undefined;
  return endedEntry('failed', { toVersion: wanted, sinceMs: failureMs(rules) });
}

/**
 * Returns the time in ms at which the upgrade of web-9 failed. With the rule `back-off`, the collector must still wait
 * for its retry.
 */
function failureMs(rules: Rules): number {
  return rules.hold('back-off') ? failedMs : 0;
}

function versionOfNine(rules: Rules, wanted: string): string {
  if (rules.have('rollback')) return rules.hold('drift') ? oldVersion : wanted;
  return rules.have('target change') && !rules.hold('target change') ? formerTarget : oldVersion;
}

/**
 * Returns the times in ms of the collector lists that contain web-9. The operator needs two lists to confirm that web-9
 * left the target (U8).
 */
function looksAtNine(rules: Rules): readonly number[] {
  if (rules.hold('listing after a failure')) return [failureMs(rules)];
  const isTwice = rules.have('drift') && !rules.hold('drift', 'rollback');
  return isTwice ? [shownMs - settings.driftConfirmMs, shownMs] : [shownMs];
}
