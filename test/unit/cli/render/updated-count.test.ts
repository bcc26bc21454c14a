import { expect, it } from 'vitest';
import { explainUpdated } from '../../../../src/cli/render/rollout-figures.ts';
import { rollingStatus } from '../sample-policy.ts';

it.each([
  ['180/197', {}, '3 offline of 200 do not count'],
  ['180/199', { offline: 1 }, '1 offline of 200 does not count'],
  ['180/190', { skipped: 7 }, '3 offline and 7 skipped of 200 do not count'],
  ['180/189', { skipped: 7, foreign: 1 }, '3 offline, 7 skipped and 1 foreign of 200 do not count'],
  ['180/200', { offline: 0 }, undefined],
  ['180/199', { skipped: 7 }, undefined],
  [undefined, {}, undefined],
])('%s with %j: %s', (updated, changes, expected) => {
  const summary = { state: 'RollingOut', ...(updated === undefined ? {} : { updated }) };
  const collectors = { ...rollingStatus.collectors!, ...changes };
  expect(explainUpdated({ ...rollingStatus, summary, collectors })).toBe(expected);
});
