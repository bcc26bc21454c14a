import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseSource, pathsBelow, readText, simulatorSources, sourcesBelow } from './source-file.ts';
import { leftovers, nameViolations, openingViolations } from './tidiness.ts';

const folders = ['src', 'simulator', 'test', 'scripts', 'tools', 'bench', 'demo'].filter((folder) =>
  existsSync(folder),
);

describe('tidiness', () => {
  test('names of files are nouns in kebab-case that say what is inside', () => {
    expect(folders.flatMap((folder) => pathsBelow(folder)).flatMap(nameViolations)).toEqual([]);
  });

  test('each file of src and simulator opens with a comment that says what it is for', () => {
    const written = sourcesBelow('src').filter(({ path }) => !path.startsWith('src/api/generated/'));
    expect([...written, ...simulatorSources()].flatMap(openingViolations)).toEqual([]);
  });

  test('nothing is left for later, and every test runs', () => {
    expect(folders.flatMap(sourcesBelow).flatMap(leftovers)).toEqual([]);
  });

  test.each([
    ['src/base/utils.ts', 'says nothing'],
    ['src/api/types.ts', 'says nothing'],
    ['src/policy/common/a.ts', 'says nothing'],
    ['src/base/workQueue.ts', 'kebab-case'],
    ['test/unit/Queue.test.ts', 'kebab-case'],
  ])('%s is refused', (path, reason) => {
    expect(nameViolations(path)).toEqual([expect.stringContaining(reason)]);
  });

  test('a file without an opening comment is refused', () => {
    expect(openingViolations(parseSource('src/a.ts', 'export {};\n'))).toEqual([expect.stringContaining('open it')]);
  });

  test.each([
    [`// ${'TODO'}: more`, 'left for later'],
    [`test.${'skip'}('a', () => {});`, 'test.skip'],
    [`describe.concurrent.${'only'}('a', () => {});`, 'describe.only'],
    [`import { setTimeout } from 'node:timers/promises';`, 'virtual clock'],
  ])('%s is refused', (text, reason) => {
    expect(leftovers(parseSource('test/unit/a.test.ts', text))).toEqual([expect.stringContaining(reason)]);
  });

  test('texts and members that only look like leftovers are allowed', () => {
    const text = `const note = 'TODO'; iterator.skip(1); options.only = true; /* not todo */`;
    expect(leftovers(parseSource('test/unit/a.test.ts', text))).toEqual([]);
  });
});

describe('ARCHITECTURE.md', () => {
  test('names every folder of src', () => {
    const page = readText('ARCHITECTURE.md');
    const parts = new Set(pathsBelow('src').map((path) => path.split('/').slice(0, -1).join('/')));
    const topOrAdapter = [...parts].filter((part) => /^src\/(?:[a-z]+|host\/[a-z]+)$/.test(part));
    expect(topOrAdapter.filter((part) => !page.includes(`${part.replace(/^src\//, '')}/`))).toEqual([]);
  });

  test('names only files and folders that exist', () => {
    const page = readText('ARCHITECTURE.md');
    const paths = [...page.matchAll(/`([\w-]+(?:\/[\w.-]+)*(?:\/|\.(?:ts|yaml|js)))`/g)].map(([, path = '']) => path);
    expect(paths.length).toBeGreaterThan(100);
    const isThere = (path: string) => ['', 'src', 'test'].some((root) => existsSync(join(root, path)));
    expect(paths.filter((path) => !isThere(path))).toEqual([]);
  });
});
