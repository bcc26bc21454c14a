/** Tests that each benchmark in docs/performance.md exists. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readText } from './source-file.ts';

const commands = [...readText('docs/performance.md').matchAll(/`npm run bench -- ([a-z]+)(?: --only ([a-z]+))?`/g)].map(
  ([, name = '', part]) => ({ name, part }),
);

test('docs/performance.md names benchmarks', () => {
  expect(commands.length).toBeGreaterThan(8);
});

test.each(commands)('npm run bench -- $name --only $part exists', ({ name, part }) => {
  expect(existsSync(`bench/${name}.ts`)).toBe(true);
  if (part) expect(readText(`bench/${name}.ts`)).toContain(`'${part}'`);
});
