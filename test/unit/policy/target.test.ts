/** Which build a policy goes to, by what the service offers (4.7). */
import { expect, test } from 'vitest';
import { resolveTarget } from '../../../src/policy/target.ts';
import type { Build } from '../../../src/service/upgrade-service.ts';

const build = (version: string, latest = false): Build => ({ version, latest });
const builds = [build('19.1-1'), build('19.2-1', true), build('19.3-1')];

test('a version that is offered', () => {
  expect(resolveTarget({ version: '19.1-1' }, builds)).toEqual({ kind: 'offered', version: '19.1-1' });
});

test('the latest is what the service calls so, not the highest', () => {
  expect(resolveTarget({ channel: 'Latest' }, builds)).toEqual({ kind: 'offered', version: '19.2-1' });
});

test('a version that is not offered: the message names those that are, and what to write', () => {
  expect(resolveTarget({ version: '18.1-1' }, builds)).toEqual({
    kind: 'notOffered',
    wanted: '18.1-1',
    message:
      'The service does not offer build 18.1-1. It offers 19.1-1, 19.2-1 (latest), 19.3-1. Set spec.target.version to one of them.',
  });
});

test('a service without a latest build', () => {
  const verdict = resolveTarget({ channel: 'Latest' }, [build('19.1-1')]);
  expect(verdict).toMatchObject({ kind: 'notOffered', wanted: 'Latest' });
  expect(verdict.kind === 'notOffered' && verdict.message).toBe(
    'The service marks no build as the latest. It offers 19.1-1. Set spec.target.version instead of channel.',
  );
});

test('a service without builds', () => {
  const verdict = resolveTarget({ version: '19.1-1' }, []);
  expect(verdict.kind === 'notOffered' && verdict.message).toContain('It offers no builds at all.');
});

test('a message names ten builds and counts the rest', () => {
  const many = Array.from({ length: 13 }, (_, index) => build(`19.${index}-1`));
  const verdict = resolveTarget({ version: '18.1-1' }, many);
  expect(verdict.kind === 'notOffered' && verdict.message).toContain('19.8-1, 19.9-1 and 3 more.');
});
