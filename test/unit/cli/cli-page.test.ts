/** Tests that docs/cli.md and `--help` contain the same commands and flags. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { recordingContext } from '../../support/recording-context.ts';

const page = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8');

async function help(...command: readonly string[]): Promise<string> {
  const context = recordingContext();
  expect(await runProgram([...command, '--help'], context)).toBe(0);
  return context.stdout.text;
}

/** Returns the flags in a text, except `--help`. */
function flagsIn(text: string): readonly string[] {
  const flags = new Set([...text.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([flag]) => flag));
  flags.delete('--help');
  return [...flags].sort();
}

/** Returns the flags that begin a line of `--help` output. */
function flagsOf(helpText: string): readonly string[] {
  return flagsIn([...helpText.matchAll(/^ {2}(?:-\w, )?--[a-z-]+/gm)].map(([line]) => line).join('\n'));
}

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
  it('has exactly the commands of the help', () => {
    const named = [...page.matchAll(/`logfleet ([a-z]+)[^`]*`(?=.* \|)/g)].map((match) => match[1] ?? '');
    expect([...new Set(named)].sort()).toEqual([...commands].sort());
  });

  it.each(commands)('has exactly the flags of %s', async (command) => {
    expect(flagsIn(sectionOf(command))).toEqual(flagsOf(await help(command)));
  });
});
