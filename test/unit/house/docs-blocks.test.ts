/** Tests that the documentation's code blocks refer to existing programs, flags, files and fields. */
import { existsSync } from 'node:fs';
import { CommanderError } from 'commander';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { parseScenario } from '../../../simulator/scenario-file.ts';
import { checkCredentialsSecret } from '../../../src/account/secret-check.ts';
import { checkManifests } from '../../../src/api/manifest-set.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { pages } from '../../../tools/docs-site/navigation.ts';
import {
  allBlocks,
  blockCommands,
  type CodeBlock,
  type DocsCommand,
  programCalls,
} from '../../support/docs-commands.ts';
import { recordingContext } from '../../support/recording-context.ts';
import { readText } from './source-file.ts';

/**
 * Commands in code style in the documentation. A text with an ellipsis or the word COMMAND is only a pattern, so it is
 * omitted.
 */
const inlineCommands: readonly DocsCommand[] = pages.flatMap((page) => {
  const text = readText(page);
  return [...text.matchAll(/(?<!`)`((?:npx )?logfleet [^`]+)`/g)]
    .map((match) => ({
      page,
      line: text.slice(0, match.index).split('\n').length,
      text: (match[1] ?? '').replaceAll(/\s+/g, ' '),
    }))
    .filter((command) => !/…|\bCOMMAND\b/.test(command.text));
});

/** Thrown when a command line is valid, so that the test does not run the command. */
class CorrectCommandLine extends Error {}

/** Parses a command line without running it, and returns the parser's error. */
async function parseError(
  args: readonly string[],
): Promise<{ readonly code: string; readonly message: string } | undefined> {
  const context = recordingContext();
  const program = createProgram(context, { status: 0, failed: 1, command: '', logsJson: false });
  for (const command of program.commands) {
    command.hook('preAction', () => {
      throw new CorrectCommandLine();
    });
  }
  try {
    await program.parseAsync(args, { from: 'user' });
    return { code: 'none', message: 'no command has run' };
  } catch (error) {
    if (error instanceof CorrectCommandLine) return undefined;
    const code = error instanceof CommanderError ? error.code : 'usage';
    return { code, message: context.stderr.text || (error as Error).message };
  }
}

/** Returns the arguments if the words are a call to logfleet, or undefined if they call another program. */
function argumentsOfLogfleet(words: readonly string[]): readonly string[] | undefined {
  if (words[0] === 'logfleet') return words.slice(1);
  const at = words.indexOf('npx');
  return at >= 0 && words[at + 1] === 'logfleet' ? words.slice(at + 2) : undefined;
}

async function wrongCalls(
  commands: readonly DocsCommand[],
  accepted: readonly string[] = [],
): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const { command, program, args } of programCalls(commands)) {
    const own = argumentsOfLogfleet([program, ...args]);
    const error = own && (await parseError(own));
    if (error && !accepted.includes(error.code)) wrong.push(`${place(command)}: ${command.text}: ${error.message}`);
  }
  return wrong;
}

const place = ({ page, line }: { readonly page: string; readonly line: number }) => `${page}:${line}`;

describe('the commands of code blocks', () => {
  const calls = programCalls(blockCommands);

  test('start a known program', () => {
    const starting = new Set(calls.map(({ command }) => command));
    const others = blockCommands.filter(
      (command) => !starting.has(command) && !/^(?:export|alias) /.test(command.text),
    );
    expect(others.map((command) => `${place(command)}: ${command.text}`)).toEqual([]);
    const known = [
      ...['npx', 'logfleet', 'kubectl', 'helm', 'docker', 'make', 'jq', 'curl', 'tar', 'ssh', 'python3'],
      ...['cat', 'cp', 'date', 'grep', 'head', 'mkdir'],
    ];
    expect([...new Set(calls.map(({ program }) => program))].sort()).toEqual(known.sort());
  });

  test('start a known program', async () => {
    expect(await wrongCalls(blockCommands)).toEqual([]);
  });

  test('name existing targets of the Makefile', () => {
    const targets = calls.filter(({ program }) => program === 'make').map(({ args: [target = ''] }) => target);
    expect(targets.length).toBeGreaterThan(3);
    const makefile = readText('Makefile');
    expect(targets.filter((target) => !new RegExp(`^${target}:`, 'm').test(makefile))).toEqual([]);
  });

  test('upgrade the chart without --reuse-values, which omits the defaults of new values', () => {
    const upgrades = calls.filter(({ program, args }) => program === 'helm' && args[0] === 'upgrade');
    expect(upgrades.length).toBeGreaterThan(3);
    const wrong = upgrades.filter(({ args }) => args.includes('--reuse-values'));
    expect(wrong.map(({ command }) => place(command))).toEqual([]);
  });

  test('name existing files of the checkout', () => {
    const files = calls.flatMap(({ command, args }) =>
      args
        .filter((word) => /^(?:manifests|charts|examples|crds|simulator)\//.test(word))
        .map((file) => ({ file, at: place(command) })),
    );
    expect(files.length).toBeGreaterThan(10);
    expect(files.filter(({ file }) => !existsSync(file))).toEqual([]);
  });
});

test('commands in the text have existing names and flags', async () => {
  expect(inlineCommands.length).toBeGreaterThan(50);
  // Ignores errors about incomplete command lines, because sentences often mention a command without its arguments.
  const incomplete = [
    'commander.missingArgument',
    'commander.missingMandatoryOptionValue',
    'commander.optionMissingArgument',
    'usage',
  ];
  expect(await wrongCalls(inlineCommands, incomplete)).toEqual([]);
});

/**
 * A check of YAML blocks in the documentation. `applies` selects the blocks to check, and `problems` returns the
 * problems in one block.
 */
interface YamlCheck {
  readonly applies: (block: CodeBlock) => boolean;
  readonly problems: (block: CodeBlock) => readonly unknown[] | Promise<readonly unknown[]>;
}

const manifestProblems = (text: string) =>
  checkManifests([{ name: 'page', text }], checkCredentialsSecret, Date.UTC(2026, 10, 21)).findings;

/**
 * Spec of a valid export. Before the check, the fields in a code block are added to this spec. `policySpec` is the same
 * for policies.
 */
const exportSpec = {
  credentialsSecretRef: { name: 'log-service' },
  query: 'error',
  timeRange: { from: '2026-10-01T00:00:00Z', to: '2026-10-02T00:00:00Z' },
};
const policySpec = { credentialsSecretRef: { name: 'log-service' }, target: { version: '19.500-1' }, selector: {} };

/**
 * Returns the errors in a manifest with this spec. Ignores warnings, because most code blocks show only some of the
 * fields.
 */
const fragmentProblems = (kind: string, spec: object) =>
  manifestProblems(asManifest(kind, spec)).filter(({ severity }) => severity === 'error');

const asManifest = (kind: string, spec: object) =>
  stringify({ apiVersion: 'logfleet.dev/v1alpha1', kind, metadata: { name: 'page', namespace: 'logging' }, spec });

function missingBases(text: string): readonly string[] {
  const { resources = [], components = [] } = parse(text) as Readonly<Record<string, readonly string[] | undefined>>;
  return [...resources, ...components].filter((path) => !existsSync(path.replace(/^logfleet\//, '')));
}

function pipelineProblems({ page, line, text }: CodeBlock): Promise<readonly string[]> {
  const commands = [...text.matchAll(/bin\/logfleet"? ([^>|\n]+)/g)];
  expect(commands).not.toEqual([]);
  return wrongCalls(commands.map(([, args]) => ({ page, line, text: `logfleet ${args}` })));
}

const yamlChecks: readonly YamlCheck[] = [
  {
    applies: ({ text }) => text.startsWith('apiVersion: logfleet.dev/'),
    problems: ({ text }) => manifestProblems(text),
  },
  {
    applies: ({ text }) => /^(?:apiVersion: kustomize|components:)/.test(text),
    problems: ({ text }) => missingBases(text),
  },
  {
    // Kubernetes resources are checked thoroughly in `test/cluster/docs-manifests.test.ts`, which sends them to a real
    // API server.
    applies: ({ text }) => /^apiVersion: (?:v1|networking\.k8s\.io\/v1)\n/.test(text),
    problems: ({ text }) => ['kind', 'metadata'].filter((member) => !(member in parse(text))),
  },
  {
    applies: ({ text }) => text.startsWith('spec:'),
    problems: ({ text }) => fragmentProblems('SearchExport', { ...exportSpec, ...parse(text).spec }),
  },
  {
    applies: ({ text }) => text.startsWith('destination:'),
    problems: ({ text }) => fragmentProblems('SearchExport', { ...exportSpec, ...parse(text) }),
  },
  {
    applies: ({ text }) => /^(?:strategy|failurePolicy|maintenance):/.test(text),
    problems: ({ text }) => fragmentProblems('CollectorVersionPolicy', { ...policySpec, ...parse(text) }),
  },
  { applies: ({ text }) => /^# \.git(?:hub|lab)/.test(text), problems: pipelineProblems },
  {
    applies: ({ page, text }) => page === 'docs/simulator.md' || text.startsWith('builds:'),
    problems: ({ text }) => (parseScenario(text, 'page') ? [] : ['no scenario']),
  },
  {
    applies: ({ page }) => page === 'charts/logfleet/README.md',
    problems: ({ text }) =>
      Object.keys(parse(text)).filter((name) => !(name in parse(readText('charts/logfleet/values.yaml')))),
  },
];

describe('the YAML blocks', () => {
  const blocks = allBlocks.filter(({ language }) => language === 'yaml');

  test.each(blocks.map((block) => [place(block), block] as const))('%s is valid', async (_, block) => {
    const check = yamlChecks.find(({ applies }) => applies(block));
    expect(await check?.problems(block)).toEqual([]);
  });
});
