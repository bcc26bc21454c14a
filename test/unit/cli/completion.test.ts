/** Tests the scripts of `logfleet completion`. The script for bash runs in a real bash. */
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { recordingContext } from '../../support/recording-context.ts';

async function script(shell: string): Promise<string> {
  const context = recordingContext();
  expect(await runProgram(['completion', shell], context)).toBe(0);
  return context.stdout.text;
}

const bash = await script('bash');

/**
 * Returns the completions that bash computes. Replaces `compopt` by a function that does nothing, because it works only
 * during an interactive completion.
 */
function completionsOf(...words: readonly string[]): readonly string[] {
  const lines = [
    'compopt() { :; }',
    bash,
    `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})`,
    `COMP_CWORD=${words.length - 1}`,
    '_logfleet',
    `printf "%s\\n" "\${COMPREPLY[@]}"`,
  ];
  return execFileSync('bash', ['-c', lines.join('\n')], { encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);
}

describe('the completion of bash', () => {
  test.each([
    [['logfleet', 'pl'], ['plan']],
    [
      ['logfleet', 'plan', 'policies', '-o', ''],
      ['table', 'wide', 'json', 'yaml', 'markdown'],
    ],
    [['logfleet', 'fleet', '--output', 'c'], ['csv']],
    [['logfleet', 'version', '--cl'], ['--client']],
    [
      ['logfleet', 'get', ''],
      ['cvp', 'sx', 'sxs'],
    ],
    [['logfleet', 'approve', ''], ['cvp/']],
    [['logfleet', 'abort', ''], ['cvp/']],
    [
      ['logfleet', 'retry', ''],
      ['cvp/', 'sxs/'],
    ],
    [
      ['logfleet', 'pause', ''],
      ['cvp/', 'sx/', 'sxs/'],
    ],
    [
      ['logfleet', 'forget', ''],
      ['cvp/', 'sx/', 'sxs/'],
    ],
    [['logfleet', 'export', '--format', '=', 'P'], ['Parquet']],
    [
      ['logfleet', 'export', '--compression', ''],
      ['None', 'Gzip', 'Zstd'],
    ],
    [
      ['logfleet', 'completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['logfleet', 'plan', ''], []],
    [
      ['logfleet', 'get', '-n', 'logging', '-A', 's'],
      ['sx', 'sxs'],
    ],
    [['logfleet', 'get', '-n', 'c'], []],
    [['logfleet', 'get', 'cvp', ''], []],
    [['logfleet', 'fleet', '--output', '=', 'c'], ['csv']],
    [
      ['logfleet', 'fleet', '--output', '='],
      ['table', 'wide', 'json', 'csv'],
    ],
    [['logfleet', 'get', '--namespace', '=', 'logging', 'c'], ['cvp']],
    [['logfleet', '--v'], ['--version']],
    [['logfleet', 'fleet', '--policy', '--'], []],
  ])('of %j is %j', (words, completions) => {
    expect(completionsOf(...words)).toEqual(completions);
  });
});

/** Flags of `logfleet export` that have fixed values. */
const enumerated = {
  'auto-parsing-mode': 'Manual AutoParse',
  results: 'Messages Records',
  format: 'NDJSON CSV Parquet',
  compression: 'None Gzip Zstd',
  'partition-by': 'None Day Hour',
  'incomplete-policy': 'Fail Keep',
  proof: 'Digest Count',
};

test.each(Object.entries(enumerated))('every shell completes the values of --%s', async (flag, values) => {
  expect(completionsOf('logfleet', 'export', `--${flag}`, '')).toEqual(values.split(' '));
  expect(await script('zsh')).toMatch(new RegExp(`'\\*--${flag}=\\[.*\\]:value:\\(${values}\\)'`));
  expect(await script('fish')).toContain(`-l ${flag} -x -a '${values}'`);
});

test('zsh and fish complete only the kinds that a command accepts', async () => {
  expect(await script('zsh')).toContain('\'1:argument:compadd -S "" -- cvp/ sxs/\'');
  const fish = await script('fish');
  const offered = (command: string, words: string) => `__fish_seen_subcommand_from ${command}' -f -a '${words}'`;
  expect(fish).toContain(offered('abort', 'cvp/'));
  expect(fish).toContain(offered('retry', 'cvp/ sxs/'));
  expect(fish).toContain(offered('pause', 'cvp/ sx/ sxs/'));
});

test.each([
  ['zsh', /^ {2}case \$words\[1\] in$/m, /'\*--output=\[Output format\]:value:\(table wide json csv\)'/],
  [
    'fish',
    /^complete -c logfleet -n 'not __fish_seen_subcommand_from run /m,
    /-s o -l output -x -a 'table wide json csv'/,
  ],
])('the script for %s has commands, and the values of flags', async (shell, ofCommands, ofFlag) => {
  const text = await script(shell);
  expect(text).toMatch(ofCommands);
  expect(text).toMatch(ofFlag);
  expect(text).not.toMatch(/\(default['\]]/);
});

test('another shell is refused', async () => {
  const context = recordingContext();
  expect(await runProgram(['completion', 'tcsh'], context)).toBe(2);
  expect(context.stderr.text).toContain('Allowed choices are bash, zsh, fish');
});
