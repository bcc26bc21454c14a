/** Runs the commands in the documentation's code blocks, page by page and in order. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { helmProgram } from '../../tools/installer/helm.ts';
import { callApi, controlPlane, kubectl } from '../support/control-plane.ts';
import { blockCommands, blocksOf, commandsOf, type DocsCommand, programCalls } from '../support/docs-commands.ts';
import { DocsSession } from './support/docs-session.ts';

/** Commands that this test does not run, each with the reason. */
const exceptions: readonly (readonly [reason: string, pattern: RegExp])[] = [
  ['Helm checks the arguments below', /: helm /],
  [
    'needs objects that only an operator in the cluster makes; kubectl checks the arguments below',
    /kubectl .*(?: wait | logs |port-forward|set image|jsonpath|serviceaccount exporter|delete -k|delete (?:lease|pers|namespace)|patch configmap)|kubectl wait /,
  ],
  [
    'needs files of the reader; kubectl checks the arguments below',
    /kubectl .*(?:key\.json|-k \.(?: |$)|backup\.json|errors\.yaml)/,
  ],
  [
    'the targets of the Makefile have tests of their own, or build a whole site',
    /: (?:make|python3|LOGFLEET_TEST_PROGRAM=\S+ npx vitest) /,
  ],
  ['needs Docker and a registry', /: docker /],
  [
    'needs a cluster with a running operator',
    /logfleet (?!manifests).*(?:--namespace|-n) [\w-]+|--all$|--context|plan .*-A|ui -A|: jq |: curl /,
  ],
  ['needs a second computer', /: ssh /],
  ['needs a tarball of `make package`, which test/e2e/package.test.ts runs', /logfleet-0\.1\.0-linux-x64/],
  ['reads or writes files outside the folder of the reader', /\/srv\/exports|verify exports/],
  ['discards the state of a policy whose manifest is deleted', /logfleet forget/],
  ['waits until the newest rows can be exported', /--to now/],
  ['needs an archive of several days', /--manifests-only|s3:\/\//],
  ['reads a file of the reader', /messages\.ndjson/],
  [
    'continues the rollout of README.md, or runs until Ctrl-C; test/e2e/directory-run.test.ts has tests of such commands',
    /^docs\/(?:install|ui)\.md: npx logfleet .*policies/,
  ],
  ['needs the commands in examples/quiet-build/policy.yaml, which take 90 seconds', /quiet-build/],
];

const named = ({ page, text }: DocsCommand) => `${page}: ${text}`;

function reasonFor(command: DocsCommand): string | undefined {
  return exceptions.find(([, pattern]) => pattern.test(named(command)))?.[0];
}

/** Documentation pages whose commands this test runs. The commands of all pages in a list run in the same folder. */
const sessions: readonly (readonly string[])[] = [
  ['README.md', 'docs/schedules.md', 'docs/cli.md', 'docs/pull-requests.md'],
  ['docs/exports.md'],
  ['docs/simulator.md'],
  ['simulator/README.md'],
];

test('each command runs, or has a reason not to run', () => {
  const others = blockCommands.filter(
    (command) => reasonFor(command) === undefined && !isForCluster(command) && !sessions.flat().includes(command.page),
  );
  expect(others.map(named)).toEqual([]);
});

test('each exception applies to a command', () => {
  const unused = exceptions.filter(([reason]) => !blockCommands.some((command) => reasonFor(command) === reason));
  expect(unused).toEqual([]);
});

function isForCluster({ text }: DocsCommand): boolean {
  return /\bkubectl |logfleet manifests /.test(text);
}

/** Runs the commands on a page, and saves the files that the page tells the reader to save. */
async function runPage(page: string, session: DocsSession): Promise<void> {
  for (const block of blocksOf(page)) {
    const [, file] = /Save this \w+ as `([^`]+)`:$/.exec(block.introduction) ?? [];
    if (file !== undefined) session.save(file, block.text);
    if (block.language !== 'console') continue;
    for (const command of commandsOf(block)) {
      if (reasonFor(command) === undefined && !isForCluster(command)) await session.run(command.text);
    }
  }
}

describe.concurrent('the commands on the pages', () => {
  test.each(sessions.map((pages) => [pages.join(', '), pages] as const))('%s run without errors', async (_, pages) => {
    const session = new DocsSession();
    try {
      for (const page of pages) await runPage(page, session);
    } finally {
      await session.close();
    }
  });
});

test('an API server accepts the commands of kubectl', async () => {
  const session = new DocsSession(controlPlane());
  try {
    for (const name of ['logfleet', 'logging', 'team-a', 'team-b']) {
      await callApi('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    }
    expect(await kubectl(['apply', '-k', 'manifests/samples'])).toMatchObject({ status: 0 });
    for (const command of blockCommands.filter((each) => isForCluster(each) && reasonFor(each) === undefined)) {
      await session.run(command.text);
    }
  } finally {
    await session.close();
  }
});

test.each(['kubectl', 'helm'])('%s knows the commands and flags of the documentation', async (program) => {
  const path = program === 'helm' ? await helmProgram() : controlPlane().kubectl;
  const calls = programCalls(blockCommands).filter((call) => call.program === program);
  expect(calls.length).toBeGreaterThan(4);
  const unknown: string[] = [];
  for (const { command, args } of calls) {
    // If the last argument is `--help`, the program checks the other arguments, but does not run the command.
    const failed = await promisify(execFile)(path, [...args, '--help']).then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (failed) unknown.push(`${named(command)}: ${failed}`);
  }
  expect(unknown).toEqual([]);
});
