/** Reads the commands in the documentation. They are the lines in `console` blocks that start with `$ `. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageVersion } from '../../src/cli/command/package-folder.ts';
import { pages } from '../../tools/docs-site/navigation.ts';

const root = join(import.meta.dirname, '../..');

export interface CodeBlock {
  readonly page: string;
  /** Line number of the block's first line on the page. */
  readonly line: number;
  readonly language: string;
  /** Content of the block without its indentation. */
  readonly text: string;
  /** Last non-empty line before the block. */
  readonly introduction: string;
}

/** A command line in the documentation. */
export interface DocsCommand {
  readonly page: string;
  readonly line: number;
  readonly text: string;
}

/** Program started by a command line, with its arguments. */
export interface ProgramCall {
  readonly command: DocsCommand;
  readonly program: string;
  readonly args: readonly string[];
}

/** Returns the code blocks of a page. */
export function blocksOf(page: string): readonly CodeBlock[] {
  const markdown = readFileSync(join(root, page), 'utf8');
  return [...markdown.matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm)].map((match) => {
    const [, indent = '', language = '', text = ''] = match;
    const before = markdown.slice(0, match.index).trimEnd();
    return {
      page,
      line: markdown.slice(0, match.index).split('\n').length + 1,
      language,
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      introduction: before.slice(before.lastIndexOf('\n\n') + 1).trim(),
    };
  });
}

export const allBlocks: readonly CodeBlock[] = pages.flatMap(blocksOf);

/** Returns the commands in a `console` block. A backslash at the end of a line continues the command. */
export function commandsOf({ page, line, text }: CodeBlock): readonly DocsCommand[] {
  return [...text.matchAll(/^\$ ((?:.*\\\n)*.*)$/gm)].map((match) => ({
    page,
    line: line + text.slice(0, match.index).split('\n').length - 1,
    text: match[1] ?? '',
  }));
}

/** Commands in all `console` blocks. */
export const blockCommands: readonly DocsCommand[] = allBlocks
  .filter(({ language }) => language === 'console')
  .flatMap(commandsOf);

/**
 * Bash code that records each call of a program. PATH contains no programs, so for each call bash runs the function
 * `command_not_found_handle` instead.
 */
const recorder = `
command_not_found_handle() { printf '%s\\0' "$index" "$#" "$@" >&9; }
function logfleet-${packageVersion()}-linux-x64/bin/logfleet { logfleet "$@"; }
shopt -s expand_aliases
PATH=/dev/null
`;

/** Returns the programs that these command lines would start, with their arguments. Does not start the programs. */
export function programCalls(commands: readonly DocsCommand[]): readonly ProgramCall[] {
  const directory = mkdtempSync(join(tmpdir(), 'logfleet-docs-commands-'));
  try {
    const lines = commands.map(({ text }, index) => `index=${index}\neval ${quoted(text)}`);
    writeFileSync(join(directory, 'script'), `${recorder}${lines.join('\n')}\n`);
    execFileSync('bash', ['-c', 'source ./script 9>calls </dev/null >/dev/null 2>&1; exit 0'], { cwd: directory });
    const words = readFileSync(join(directory, 'calls'), 'utf8').split('\0');
    return callsFrom(words, commands);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/**
 * Decodes the recorded calls. Each call consists of the index of its command line, the number of words, and the words
 * themselves.
 */
function callsFrom(words: readonly string[], commands: readonly DocsCommand[]): readonly ProgramCall[] {
  const calls: ProgramCall[] = [];
  for (let at = 0; at + 2 < words.length; ) {
    const count = Number(words[at + 1]);
    const [program = '', ...args] = words.slice(at + 2, at + 2 + count);
    const command = commands[Number(words[at])];
    if (command) calls.push({ command, program, args });
    at += 2 + count;
  }
  return calls;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
