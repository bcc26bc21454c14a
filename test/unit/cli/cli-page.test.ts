/** docs/cli.md and `--help` name the same commands and the same flags. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { recordingContext } from './recording-context.ts';

const page = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8');

async function help(...command: readonly string[]): Promise<string> {
  const context = recordingContext();
  expect(await runProgram([...command, '--help'], context)).toBe(0);
  return context.stdout.text;
}

/** Every command has its `--help`, whose flags are beside the point here. */
function flagsIn(text: string): readonly string[] {
  const flags = new Set([...text.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([flag]) => flag));
  flags.delete('--help');
  return [...flags].sort();
}

/** The flags at the beginning of the lines of help, leaving out those that descriptions and examples mention. */
function flagsOf(helpText: string): readonly string[] {
  return flagsIn([...helpText.matchAll(/^ {2}(?:-\w, )?--[a-z-]+/gm)].map(([line]) => line).join('\n'));
}

/** What the page says of a command: the rows of the tables below the heading that names it. */
function sectionOf(command: string): string {
  const section = page.split(/^## /m).find((text) => text.split('\n')[0]?.split(', ').includes(`logfleet ${command}`));
  return (section ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.replace(/^\| (.*?) \| .*/, '$1'))
    .join('\n');
}

const commands = [...(await help()).matchAll(/^ {2}([a-z]+)(?= )/gm)]
  .map((match) => match[1] ?? '')
  .filter((name) => name !== 'help');

describe('docs/cli.md', () => {
  it('knows every command, and no other', () => {
    const named = [...page.matchAll(/`logfleet ([a-z]+)[^`]*`(?=.* \|)/g)].map((match) => match[1] ?? '');
    expect([...new Set(named)].sort()).toEqual([...commands].sort());
  });

  it.each(commands)('knows the flags of %s, and no other', async (command) => {
    expect(flagsIn(sectionOf(command))).toEqual(flagsOf(await help(command)));
  });
});
