import { format, inspect } from 'node:util';
import { expect, test } from 'vitest';
import { SecretText } from '../../../src/base/secret-text.ts';

const canary = 'canary-4711';

test.each<[string, (secret: SecretText) => string]>([
  ['a template', (secret) => `${secret}`],
  ['a concatenation', (secret) => 'key: '.concat(secret as unknown as string)],
  ['JSON', (secret) => JSON.stringify({ secret })],
  ['inspect', (secret) => inspect({ secret }, { depth: 9, showHidden: true })],
  ['format', (secret) => format('%s %o %j', secret, secret, secret)],
  ['its own members', (secret) => JSON.stringify([Object.entries(secret), Reflect.ownKeys(secret).map(String)])],
])('a secret does not show in %s', (_, render) => {
  expect(render(new SecretText(canary))).not.toContain(canary);
});

test('reveal returns a secret', () => {
  expect(new SecretText(canary).reveal()).toBe(canary);
});
