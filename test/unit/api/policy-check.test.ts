import { describe, expect, test } from 'vitest';
import { renderPath } from '../../../src/api/json-path.ts';
import { validateResource } from '../../../src/api/validation.ts';

/** What `validate` says about a policy with these members, as `severity path: message`. */
function say(spec: object, metadata: object = {}, rest: object = {}): readonly string[] {
  const policy = {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'CollectorVersionPolicy',
    metadata: { name: 'p', ...metadata },
    spec: { credentialsSecretRef: { name: 's' }, target: { version: '19.500-1' }, selector: {}, ...spec },
    ...rest,
  };
  return validateResource('CollectorVersionPolicy', policy).map(
    ({ severity, path, message }) => `${severity} ${renderPath(path)}: ${message}`,
  );
}

const names = (...matchNames: string[]) => ({ selector: { matchNames } });

describe('what neither schema nor CEL can say', () => {
  test.each([
    ['leading zeros', { target: { version: '19.0500-1' } }, 'spec.target.version: has leading zeros.*write 19.500-1'],
    ['a regular expression', names('web-.*'), 'spec.selector.matchNames\\[0\\]: .*looks like a regular expression'],
    ['an anchored name', names('^web'), 'looks like a regular expression'],
    ['an alternative', names('(a|b)'), 'looks like a regular expression'],
    ['a class of characters', names('web-[0-9]'), 'looks like a regular expression'],
    ['an exclusion of all', { exclude: [{}] }, 'spec.exclude\\[0\\]: leaves out every collector'],
    [
      'a version that no collector has',
      { selector: { matchFields: { collectorVersion: '19.x' } } },
      'spec.selector.matchFields.collectorVersion: no collector has the version "19.x"',
    ],
    [
      'the same in an exclusion',
      { exclude: [{ matchExpressions: [{ key: 'collectorVersion', operator: 'In', values: ['19.1-1', '19'] }] }] },
      'spec.exclude\\[0\\].matchExpressions\\[0\\].values\\[1\\]: no collector has the version "19"',
    ],
    [
      'hosted collectors',
      { selector: { matchFields: { collectorType: 'Hosted' } } },
      'hosted collectors have no version',
    ],
    ['a glob in a field', { selector: { matchFields: { hostName: 'web-*' } } }, 'is compared as it stands'],
    ['a glob as a name', { selector: { matchFields: { name: 'web-*' } } }, 'write it under matchNames'],
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
  ])('nothing against %j', (spec) => {
    expect(say(spec)).toEqual([]);
  });
});

describe('metadata', () => {
  test.each([
    [
      'a misspelt annotation',
      { annotations: { 'logfleet.dev/pause': 'true' } },
      'warning .*did you mean logfleet.dev/paused',
    ],
    ['a pause that is none', { annotations: { 'logfleet.dev/paused': 'yes' } }, 'warning .*only "true" pauses'],
    [
      'an approval of no stage',
      { annotations: { 'logfleet.dev/approve': '3-19.500-1' } },
      'warning .*write ROLLOUT/STAGE',
    ],
    ['a retry of no rollout', { annotations: { 'logfleet.dev/retry': 'true' } }, 'warning .*"true" names no rollout'],
    [
      'an abort of no rollout',
      { annotations: { 'logfleet.dev/abort': 'canary' } },
      'warning .*write the id in status.rollout',
    ],
    ['an annotation of others', { annotations: { 'example.com/pause': 'x' } }, undefined],
    ['a label that is no text', { labels: { tier: 1 } }, 'error metadata.labels.tier: must be a text and is 1'],
    ['labels that are no mapping', { labels: ['a'] }, 'error metadata.labels: must be a mapping'],
    ['a namespace that is none', { namespace: 'Team A' }, 'error metadata.namespace: "Team A" is no namespace'],
    ['a generated name', { name: undefined, generateName: 'p-' }, undefined],
  ])('%s', (_, metadata, expected) => {
    const said = say({}, metadata);
    expect(said).toHaveLength(expected === undefined ? 0 : 1);
    if (expected !== undefined) expect(said[0]).toMatch(new RegExp(`^${expected}`));
  });

  test('a status in a manifest is a warning, whatever it holds', () => {
    expect(say({}, {}, { status: { tasks: 'x' } })).toEqual([
      'warning status: is written by logfleet alone and will be ignored; leave it out',
    ]);
  });
});

test('a rule says nothing about what the schema refuses already', () => {
  expect(say({ target: 'Latest', strategy: { maxInProgress: [1] } })).toEqual([
    expect.stringMatching(
      /^error spec.target: must be a mapping and is the text "Latest"; write its fields, as in {version/,
    ),
    expect.stringMatching(/^error spec.strategy.maxInProgress: must be a whole number or a percentage/),
  ]);
});
