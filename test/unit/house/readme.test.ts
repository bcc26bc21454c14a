/**
 * Tests that the README names only existing make targets, folders and variables, and that its figures are also in
 * docs/performance.md.
 */
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { blockCommands } from '../../support/docs-commands.ts';
import { readText } from './source-file.ts';

const readme = readText('README.md');

/** Command lines in the README, both in console blocks and in inline code. */
const inConsoles = blockCommands.filter(({ page }) => page === 'README.md').map(({ text }) => text);
const inText = [...readme.matchAll(/`((?:make|npm run) [^`]+)`/g)].map(([, line = '']) => line);
const commandLines = [...inConsoles, ...inText];

function wordsAfter(program: string): readonly (readonly string[])[] {
  const lines = commandLines.filter((line) => line.startsWith(`${program} `));
  return lines.map((line) => line.slice(program.length + 1).split(' '));
}

describe('the README', () => {
  test('names only existing targets of the Makefile and scripts of package.json', () => {
    const makefile = readText('Makefile');
    const scripts = Object.keys(JSON.parse(readText('package.json')).scripts);
    const targets = wordsAfter('make').map(([target = '']) => target);
    expect(targets.filter((target) => !new RegExp(`^${target}:`, 'm').test(makefile))).toEqual([]);
    expect(wordsAfter('npm run').filter(([script = '']) => !scripts.includes(script))).toEqual([]);
  });

  test('names existing folders of manifests and variables', async () => {
    const folders = [...readme.matchAll(/(?<![./\w-])(?:manifests|examples|demo)\/[a-z-]+/g)].map(([folder]) => folder);
    expect(folders.length).toBeGreaterThan(2);
    expect(folders.filter((folder) => !existsSync(folder))).toEqual([]);
    const page = readText('docs/cli.md');
    const variables = [...readme.matchAll(/LOGFLEET_[A-Z_]+/g)].map(([variable]) => variable);
    expect(variables.filter((variable) => !page.includes(variable))).toEqual([]);
  });

  test('repeats figures of docs/performance.md', () => {
    const [, rows = ''] = readme.split('| figure | value |\n| --- | --- |\n');
    const values = [...(rows.split('\n\n')[0] ?? '').matchAll(/\| ([^|]+) \|$/gm)].map(([, value = '']) => value);
    const numbers = values.flatMap((value) =>
      [...value.matchAll(/(?<![\w.])\d+(?:[.,]\d+)*/g)].map(([number]) => number),
    );
    expect(numbers.length).toBeGreaterThan(4);
    const page = readText('docs/performance.md');
    expect(numbers.filter((number) => !page.includes(` ${number} `))).toEqual([]);
  });
});
