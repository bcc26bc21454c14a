/** Checks that commands, flags, targets, files, manifests and figures of the README exist and are correct. */
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { recordingContext } from '../cli/recording-context.ts';
import { readText } from './source-file.ts';

const readme = readText('README.md');

/**
 * Returns the text of each code block of the README in the given language. The indentation of code blocks in lists is removed.
 */
function blocks(language: string): readonly string[] {
  const found = readme.matchAll(new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)^\\1\`\`\`$`, 'gm'));
  return [...found].map(([, indent = '', text = '']) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''));
}

/**
 * Returns every command line of the README: from its console blocks, and from inline code that begins like a command.
 */
const inConsoles = blocks('console').flatMap((block) =>
  block.split('\n').flatMap((line) => line.match(/^\$ (.+)$/)?.[1] ?? []),
);
const inText = [...readme.matchAll(/`((?:npx logfleet|logfleet|make|npm run) [^`]+)`/g)].map(([, line = '']) => line);
const commandLines = [...inConsoles, ...inText];

function wordsAfter(program: string): readonly (readonly string[])[] {
  const lines = commandLines.filter((line) => line.startsWith(`${program} `));
  return lines.map((line) => line.slice(program.length + 1).split(' '));
}

async function help(...command: readonly string[]): Promise<string> {
  const context = recordingContext();
  expect(await runProgram([...command, '--help'], context), `logfleet ${command} --help`).toBe(0);
  return context.stdout.text;
}

describe('the README', () => {
  const logfleet = [...wordsAfter('npx logfleet'), ...wordsAfter('logfleet')];

  test('has command lines of each kind', () => {
    expect(logfleet.length).toBeGreaterThan(10);
    expect(wordsAfter('make').length).toBeGreaterThan(2);
    expect(wordsAfter('npm run').length).toBeGreaterThan(1);
    expect(wordsAfter('kubectl').length).toBeGreaterThan(4);
  });

  test.each(logfleet.filter(([command]) => command !== 'COMMAND'))(
    'logfleet %s …: the command and its flags exist',
    async (...words) => {
      const [command = ''] = words;
      const text = await help(command);
      const flags = words.flatMap((word) => /^--?[a-z][a-z-]*/.exec(word)?.[0] ?? []);
      for (const flag of flags) expect(text).toMatch(new RegExp(`^ +(?:-\\w, )?${flag}\\b`, 'm'));
    },
  );

  test('names every command', async () => {
    const commands = [...(await help()).matchAll(/^ {2}([a-z]+)(?= )/gm)].map(([, name = '']) => name);
    expect(commands).toContain('run');
    const named = new Set(logfleet.map(([command]) => command));
    expect(commands.filter((name) => name !== 'help' && !named.has(name))).toEqual([]);
  });

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

  test('has a valid policy and a valid export', async () => {
    const manifests = blocks('yaml').filter((text) => text.startsWith('apiVersion: logfleet.dev/'));
    expect(manifests.map((text) => /^kind: (\w+)$/m.exec(text)?.[1])).toEqual([
      'CollectorVersionPolicy',
      'SearchExport',
    ]);
    const context = { ...recordingContext(), readStdin: async () => manifests.join('---\n') };
    const status = await runProgram(['validate', '-'], context);
    expect({ status, found: context.stdout.text }).toEqual({ status: 0, found: '' });
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
