import { describe, expect, test } from 'vitest';
import { renderExplanation } from '../../../src/api/finding.ts';
import { renderPath } from '../../../src/api/json-path.ts';
import { validateResource } from '../../../src/api/validation.ts';

/** Returns the findings of `validate`, each as `severity path: message`. The current time is a fixed day in 2026. */
function say(spec: object, metadata: object = {}, rest: object = {}): readonly string[] {
  const policy = {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'CollectorVersionPolicy',
    metadata: { name: 'p', ...metadata },
    spec: { credentialsSecretRef: { name: 's' }, target: { version: '19.500-1' }, selector: {}, ...spec },
    ...rest,
  };
  return validateResource('CollectorVersionPolicy', policy, undefined, Date.UTC(2026, 10, 21)).map(
    (finding) => `${finding.severity} ${renderPath(finding.path)}: ${renderExplanation(finding)}`,
  );
}

const names = (...matchNames: string[]) => ({ selector: { matchNames } });

describe('findings beyond schema and CEL', () => {
  test.each([
    [
      'leading zeros',
      { target: { version: '19.0500-1' } },
      'spec.target.version: the version has leading zeros.*use 19.500-1',
    ],
    ['a regular expression', names('web-.*'), 'spec.selector.matchNames\\[0\\]: .*looks like a regular expression'],
    ['an anchored name', names('^web'), 'looks like a regular expression'],
    ['an alternative', names('(a|b)'), 'looks like a regular expression'],
    ['a character class', names('web-[0-9]'), 'looks like a regular expression'],
    ['an exclusion that matches every collector', { exclude: [{}] }, 'spec.exclude\\[0\\]: excludes every collector'],
    [
      'a version that no collector has',
      { selector: { matchFields: { collectorVersion: '19.x' } } },
      'spec.selector.matchFields.collectorVersion: "19.x" is not a collector version',
    ],
    [
      'an impossible version in an exclusion',
      { exclude: [{ matchExpressions: [{ key: 'collectorVersion', operator: 'In', values: ['19.1-1', '19'] }] }] },
      'spec.exclude\\[0\\].matchExpressions\\[0\\].values\\[1\\]: "19" is not a collector version',
    ],
    [
      'hosted collectors',
      { selector: { matchFields: { collectorType: 'Hosted' } } },
      'hosted collectors have no version',
    ],
    ['a glob in a field', { selector: { matchFields: { hostName: 'web-*' } } }, 'is compared literally'],
    ['a glob as a name', { selector: { matchFields: { name: 'web-*' } } }, 'move it to matchNames'],
  ])('%s is a warning', (_, spec, expected) => {
    const said = say(spec);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(new RegExp(`^warning .*${expected}`));
  });

  test.each([
    [names('web-*', 'db-?', 'a.b+c', 'node(1)', 'x$y')],
    [{ exclude: [{ matchNames: ['*'] }] }],
    [{ selector: { matchExpressions: [{ key: 'collectorVersion', operator: 'Exists' }] } }],
    [{ selector: { matchFields: { collectorVersion: '19.253-26', collectorType: 'Installable' } } }],
  ])('%j has no findings', (spec) => {
    expect(say(spec)).toEqual([]);
  });
});

const soakless = (...list: object[]) => ({ strategy: { stages: list }, failurePolicy: { maxFailures: 1 } });
const bareStages = (...list: object[]) => ({
  strategy: { stages: list.map((one) => ({ soakDuration: '0s', ...one })) },
});
const stages = (...list: object[]) => ({ ...bareStages(...list), failurePolicy: { maxFailures: 1 } });
const rest = { name: 'rest' };
const linux = { matchFields: { osName: 'Linux', osArch: 'arm' } };
const maintenance = (parts: object) => ({
  maintenance: { windows: [{ schedule: '0 22 * * *', duration: '6h' }], ...parts },
});
const exclusion = (endTime: string) => ({ name: 'x', startTime: '2025-01-01T00:00:00Z', endTime });

describe('rollouts: settings that an API server accepts but that are probably mistakes', () => {
  test.each<[string, object, string]>([
    [
      'a pattern that is an incomplete version',
      { target: { channel: 'Latest', versionPattern: '19.500' } },
      'warning spec.target.versionPattern: no version can be 19.500; use a glob, for example 19.*',
    ],
    [
      'a soak that is too short to notice offline collectors',
      stages({ name: 'rest', soakDuration: '34m59s' }),
      'warning spec.strategy.stages[0].soakDuration: a soak of 34m59s is too short to notice offline collectors, which the service reports after half an hour; use 35m or more',
    ],
    [
      'a message analysis that is too short for pauses',
      stages({ name: 'rest', soakDuration: '35m', analysis: { messages: { duration: '9m' } } }),
      'warning spec.strategy.stages[0].analysis.messages.duration: an analysis of 9m is too short: a healthy collector that pauses between messages could count as a failure; use 10m or more',
    ],
    [
      'a message analysis that tolerates no decrease',
      stages({ name: 'rest', soakDuration: '35m', analysis: { messages: { minRatio: '91%' } } }),
      'warning spec.strategy.stages[0].analysis.messages.minRatio: a collector that sends slightly fewer messages after its upgrade counts as a failure, because minRatio is 91%; use 90% or less',
    ],
    [
      'a canary without a soak',
      soakless({ name: 'canary', size: 1 }, rest),
      'warning spec.strategy.stages[0]: the first stage has no soak, so stage rest starts as soon as the collectors of the first stage run the target, even if some of them go offline afterwards; set soakDuration: 35m or more, or 0s if this is intended',
    ],
    [
      'a repeated selector with another order of members',
      stages(
        { name: 'a', selector: linux },
        { name: 'b', selector: { matchFields: { osArch: 'arm', osName: 'Linux' } } },
        rest,
      ),
      'warning spec.strategy.stages[1].selector: the stage has the same selector as the earlier stage a, so it gets no collectors; use another selector, or leave the stage out',
    ],
    [
      'a stage after a stage that takes all collectors',
      stages({ name: 'all', selector: {} }, rest),
      'warning spec.strategy.stages[1]: the stage gets no collectors, because the earlier stage all takes all remaining collectors; move the stage before all',
    ],
    [
      'a stage after stages that take all collectors together',
      stages({ name: 'all', size: '100%' }, rest),
      'warning spec.strategy.stages[1]: the stage gets no collectors, because the earlier stage all takes all remaining collectors; move the stage before all',
    ],
    [
      'stages that do not take all collectors',
      stages({ name: 'canary', size: '1%' }),
      'warning spec.strategy.stages: collectors that match no stage are skipped; add a last stage without size or selector, for example {name: rest}',
    ],
    [
      'a glob of names in a stage',
      stages({ name: 'web', selector: { matchNames: ['web-.*'] } }, rest),
      'warning spec.strategy.stages[0].selector.matchNames[0]: "web-.*" looks like a regular expression, but names are matched by globs; use * for any characters and ? for one, for example web-*',
    ],
    [
      'zero percent of failures in a stage',
      stages({ name: 'rest', maxFailures: '0%' }),
      'warning spec.strategy.stages[0].maxFailures: a limit of 0% does not stop the rollout at the first failure, because percentages apply only after minSamples upgrade attempts have ended; use 0 to stop at the first failure',
    ],
    [
      'no percentage of failures',
      { failurePolicy: { maxFailures: '0%' } },
      'warning spec.failurePolicy.maxFailures: a limit of 0% does not stop the rollout at the first failure, because percentages apply only after minSamples upgrade attempts have ended; use 0 to stop at the first failure',
    ],
    [
      'an action without maxFailures',
      { failurePolicy: { action: 'Rollback', minSamples: 5 } },
      'warning spec.failurePolicy: failurePolicy has no effect, because neither failurePolicy nor any stage sets maxFailures; set maxFailures, for example maxFailures: 2%',
    ],
    [
      'minSamples with a number',
      { failurePolicy: { maxFailures: 3, minSamples: 50 } },
      'warning spec.failurePolicy.minSamples: minSamples has no effect, because maxFailures is a number instead of a percentage, and a number applies from the first attempt; use a percentage for maxFailures, or leave minSamples out',
    ],
    [
      'stages without any failure limit',
      bareStages({ name: 'canary', size: 1 }, rest),
      'warning spec.strategy.stages: no failure limit is set; set maxFailures in each stage, or for the whole rollout in failurePolicy, for example maxFailures: 2%',
    ],
    [
      'a limit for failures only in the canary',
      bareStages({ name: 'canary', size: 1, maxFailures: 0 }, { name: 'half', size: '50%' }, rest),
      'warning spec.strategy.stages: some stages have no failure limit (maxFailures): half, rest; set maxFailures in these stages, too, or for the whole rollout in failurePolicy',
    ],
    [
      'a limit for failures only in the canary, with an action',
      {
        ...bareStages({ name: 'canary', size: 1, maxFailures: 0 }, rest),
        failurePolicy: { action: 'Rollback' },
      },
      'warning spec.strategy.stages: some stages have no failure limit (maxFailures): rest; set maxFailures in these stages, too, or for the whole rollout in failurePolicy',
    ],
    [
      'a percentage of the first attempt',
      { failurePolicy: { maxFailures: '2%' } },
      'warning spec.failurePolicy.maxFailures: without minSamples, the percentage applies from the first attempt, so a single failure can stop the rollout; set minSamples in failurePolicy, for example minSamples: 50',
    ],
    [
      'the same in a stage',
      stages({ name: 'canary', size: 5, maxFailures: '20%' }, { ...rest, maxFailures: '5%' }),
      'warning spec.strategy.stages[0].maxFailures: without minSamples, the percentage applies from the first attempt, so a single failure can stop the rollout; set minSamples in failurePolicy, for example minSamples: 50',
    ],
    [
      'percentages that leave no collectors for the last stage',
      stages({ name: 'a', size: '60%' }, { name: 'b', size: '60%' }, rest),
      'warning spec.strategy.stages[2]: the stage gets no collectors, because the earlier stage b takes all remaining collectors; move the stage before b',
    ],
    [
      'a cutoff without windows',
      { maintenance: { cutoff: '1h' } },
      'warning spec.maintenance.cutoff: has no effect without windows or exclusions; add one, or leave it out',
    ],
    [
      'a window with hardly any usable time',
      maintenance({ windows: [{ schedule: '0 22 * * *', duration: '31m' }] }),
      'warning spec.maintenance.windows[0].duration: upgrades can start only in the first 1m of the maintenance window, because cutoff prevents later starts; use a longer duration',
    ],
    [
      'a window with hardly any time before a custom cutoff',
      maintenance({ windows: [{ schedule: '0 22 * * *', duration: '1h' }], cutoff: '50m1s' }),
      'warning spec.maintenance.windows[0].duration: upgrades can start only in the first 9m59s of the maintenance window, because cutoff prevents later starts; use a longer duration',
    ],
    [
      'a cutoff that is shorter than an upgrade',
      maintenance({ cutoff: '29m59s' }),
      'warning spec.maintenance.cutoff: an upgrade can take half an hour, so with a cutoff of 29m59s it can run past the end of the maintenance window; use 30m or more',
    ],
    [
      'an exclusion that is over',
      maintenance({ exclusions: [exclusion('2026-11-20T23:59:59Z')] }),
      'warning spec.maintenance.exclusions[0].endTime: ended at 2026-11-20T23:59:59Z; leave the exclusion out, or use a later endTime',
    ],
    [
      'an invalid schedule',
      maintenance({ windows: [{ schedule: '0 25 * * *', duration: '6h' }] }),
      'error spec.maintenance.windows[0].schedule: the hour "25" cannot be read; use 0 to 23, for example 22, 8-17 or */2',
    ],
    [
      'an unknown time zone',
      maintenance({ windows: [{ schedule: '0 22 * * *', duration: '6h', timeZone: 'Berlin' }] }),
      'error spec.maintenance.windows[0].timeZone: "Berlin" is not a known time zone; use Europe/Berlin',
    ],
  ])('%s', (_, spec, expected) => {
    expect(say(spec)).toEqual([expected]);
  });

  test.each<[string, object]>([
    ['an exact version as a pattern', { target: { channel: 'Latest', versionPattern: '19.500-1' } }],
    ['the shortest soak in which an offline collector is noticed', stages({ name: 'rest', soakDuration: '35m' })],
    ['no soak', stages({ name: 'rest', soakDuration: '0s' })],
    ['no soak before an approval', soakless({ name: 'a', size: 1 }, { ...rest, approval: 'Required' })],
    [
      'a message analysis with useful settings',
      stages({ name: 'rest', soakDuration: '35m', analysis: { messages: { minRatio: '90%', duration: '10m' } } }),
    ],
    ['no soak of half the fleet', soakless({ name: 'linux', selector: linux }, rest)],
    ['the same size twice', stages({ name: 'a', size: 10 }, { name: 'b', size: 10 }, rest)],
    ['a cutoff of zero without windows', { maintenance: { cutoff: '0s' } }],
    ['percentages that take all', stages({ name: 'a', size: '60%' }, { name: 'b', size: '60%' })],
    [
      'a limit for failures in each stage',
      bareStages({ name: 'a', size: 1, maxFailures: 0 }, { ...rest, maxFailures: 5 }),
    ],
    ['a percentage with minSamples 1', { failurePolicy: { maxFailures: '2%', minSamples: 1 } }],
    ['a percentage that nothing exceeds', { failurePolicy: { maxFailures: '100%' } }],
    [
      'a window that leaves ten minutes',
      maintenance({ windows: [{ schedule: '0 22 * * *', duration: '40m' }], cutoff: '30m' }),
    ],
    ['a last stage that takes all, written differently', stages({ name: 'a', size: 1 }, { name: 'b', selector: {} })],
    ['an approval before the first stage', stages({ name: 'rest', approval: 'Required' })],
    ['a rollback without allowDowngrade', { failurePolicy: { maxFailures: 0, action: 'Rollback' } }],
    [
      'samples for a stage',
      { failurePolicy: { maxFailures: 3, minSamples: 50 }, ...bareStages({ ...rest, maxFailures: '5%' }) },
    ],
    ['an action for a stage', { failurePolicy: { action: 'Rollback' }, ...bareStages({ ...rest, maxFailures: 0 }) }],
    ['an exclusion that ends later today', maintenance({ exclusions: [exclusion('2026-11-21T00:00:01Z')] })],
    ['nothing', { strategy: { stages: null }, failurePolicy: null, maintenance: null }],
  ])('%s has no findings', (_, spec) => {
    expect(say(spec)).toEqual([]);
  });

  test('without the current time no exclusion has ended', () => {
    const spec = {
      credentialsSecretRef: { name: 's' },
      target: { version: '19.500-1' },
      selector: {},
      ...maintenance({ exclusions: [exclusion('2025-01-02T00:00:00Z')] }),
    };
    const policy = {
      apiVersion: 'logfleet.dev/v1alpha1',
      kind: 'CollectorVersionPolicy',
      metadata: { name: 'p' },
      spec,
    };
    expect(validateResource('CollectorVersionPolicy', policy)).toEqual([]);
  });
});

describe('metadata', () => {
  test.each([
    [
      'a misspelt annotation',
      { annotations: { 'logfleet.dev/pause': 'true' } },
      'warning .*did you mean logfleet.dev/paused',
    ],
    ['an invalid pause', { annotations: { 'logfleet.dev/paused': 'yes' } }, 'warning .*only the value "true" pauses'],
    [
      'an approval of no stage',
      { annotations: { 'logfleet.dev/approve': '3-19.500-1' } },
      'warning .*use ROLLOUT/STAGE',
    ],
    ['a retry of no rollout', { annotations: { 'logfleet.dev/retry': 'true' } }, 'warning .*"true" names no rollout'],
    [
      'an abort of no rollout',
      { annotations: { 'logfleet.dev/abort': 'canary' } },
      'warning .*use the id in status.rollout',
    ],
    ['an annotation of another program', { annotations: { 'example.com/pause': 'x' } }, undefined],
    [
      'a label that is not a text',
      { labels: { tier: 1 } },
      'error metadata.labels.tier: must be a string, not the number 1',
    ],
    ['labels that are not a mapping', { labels: ['a'] }, 'error metadata.labels: must be a mapping'],
    ['an invalid namespace', { namespace: 'Team A' }, 'error metadata.namespace: "Team A" is not a namespace'],
    ['a generated name', { name: undefined, generateName: 'p-' }, undefined],
  ])('%s', (_, metadata, expected) => {
    const said = say({}, metadata);
    expect(said).toHaveLength(expected === undefined ? 0 : 1);
    if (expected !== undefined) expect(said[0]).toMatch(new RegExp(`^${expected}`));
  });

  test('a status in a manifest is a warning, for any content', () => {
    expect(say({}, {}, { status: { tasks: 'x' } })).toEqual([
      'warning status: is ignored, because only logfleet writes it; leave it out',
    ]);
  });
});

test('a rule does not repeat an error of the schema', () => {
  expect(say({ target: 'Latest', strategy: { maxInProgress: [1] } })).toEqual([
    expect.stringMatching(
      /^error spec.target: must be a mapping, not the string "Latest"; set its fields, for example {version/,
    ),
    expect.stringMatching(/^error spec.strategy.maxInProgress: /),
  ]);
});
