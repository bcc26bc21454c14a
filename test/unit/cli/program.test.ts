import { afterEach, describe, expect, test, vi } from 'vitest';
import { FlagError } from '../../../simulator/options.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { variables } from '../../../src/account/credential-place.ts';
import { LogfleetError } from '../../../src/base/errors.ts';
import { UsageError } from '../../../src/cli/command/usage-error.ts';
import { exportCommand } from '../../../src/cli/export/export.ts';
import { getCommand } from '../../../src/cli/get/get.ts';
import { crdsCommand, manifestsCommand } from '../../../src/cli/manifests.ts';
import { approveCommand } from '../../../src/cli/person/approve.ts';
import { pauseCommand, resumeCommand } from '../../../src/cli/person/pause.ts';
import { abortCommand, retryCommand } from '../../../src/cli/person/retry-abort.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { runCommand } from '../../../src/cli/run/run.ts';
import { validateCommand } from '../../../src/cli/validate.ts';
import { recordingContext } from '../../support/recording-context.ts';

vi.mock('../../../src/cli/run/run.ts', () => ({ runCommand: vi.fn(async () => 0) }));
vi.mock('../../../simulator/simulate.ts', () => ({ simulate: vi.fn(async () => {}) }));
vi.mock('../../../src/cli/validate.ts', () => ({ validateCommand: vi.fn(async () => 0) }));
vi.mock('../../../src/cli/fleet/fleet.ts', () => ({ fleetCommand: vi.fn(async () => 0) }));
vi.mock('../../../src/cli/get/get.ts', () => ({ getCommand: vi.fn(async () => 0) }));
vi.mock('../../../src/cli/person/pause.ts', () => ({
  pauseCommand: vi.fn(async () => 0),
  resumeCommand: vi.fn(async () => 0),
}));
vi.mock('../../../src/cli/person/approve.ts', () => ({ approveCommand: vi.fn(async () => 0) }));
vi.mock('../../../src/cli/person/retry-abort.ts', () => ({
  retryCommand: vi.fn(async () => 0),
  abortCommand: vi.fn(async () => 0),
}));
vi.mock('../../../src/cli/export/export.ts', () => ({ exportCommand: vi.fn(async () => 0) }));
vi.mock('../../../src/cli/verify/verify.ts', () => ({ verifyCommand: vi.fn(async () => 0) }));
vi.mock('../../../src/cli/verify/verify-schedule.ts', () => ({ verifyScheduleCommand: vi.fn(async () => 0) }));
vi.mock('../../../src/cli/manifests.ts', () => ({
  manifestsCommand: vi.fn(async () => 0),
  crdsCommand: vi.fn(async () => 0),
}));

const commands = [
  'run',
  'simulate',
  'validate',
  'fleet',
  'get',
  'pause',
  'resume',
  'approve',
  'retry',
  'abort',
  'export',
  'verify',
  'manifests',
  'crds',
  'version',
  'completion',
] as const;

afterEach(() => {
  vi.clearAllMocks();
});

/** Runs a command line, split at whitespace outside single quotes. */
async function run(line: string, env: Record<string, string> = {}) {
  const context = { ...recordingContext(), env };
  const status = await runProgram(wordsOf(line), context);
  return { status, stdout: context.stdout.text, stderr: context.stderr.text };
}

function wordsOf(line: string): readonly string[] {
  return Array.from(line.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, word = '']) => quoted ?? word);
}

describe('help', () => {
  test('names every command, and goes to stdout', async () => {
    const { status, stdout, stderr } = await run('--help');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    for (const command of commands) expect(stdout).toMatch(new RegExp(`^ {2}${command} `, 'm'));
  });

  test('fits 80 columns', async () => {
    for (const command of ['', ...commands]) {
      const { stdout } = await run(`${command} --help`);
      expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    }
  });

  test('of run names every variable for credentials', async () => {
    const { stdout } = await run('run --help');
    for (const variable of Object.values(variables)) expect(stdout).toContain(variable);
  });

  test.each(commands)('%s: has an example that the program accepts', async (command) => {
    const { stdout } = await run(`${command} --help`);
    const examples = [...stdout.matchAll(/logfleet [^|\n]*/g)]
      .map(([text]) => text)
      .filter((text) => !text.startsWith('logfleet <'));
    const lines = examples.slice(1).map((text) => text.replace(/^logfleet /, '').trim());
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      expect(line.split(' ')[0]).toBe(command);
      expect(await run(line)).toMatchObject({ status: 0, stderr: '' });
    }
  });
});

describe('flags', () => {
  test('run: all of them', async () => {
    await run(
      'run --kubeconfig k --context c --namespaces a,b --operator-namespace o --no-leader-election ' +
        '--health-listen :8080 --log-format json --log-level debug',
    );
    expect(runCommand).toHaveBeenCalledWith(
      [],
      {
        kubeconfig: 'k',
        context: 'c',
        namespaces: ['a', 'b'],
        operatorNamespace: 'o',
        leaderElection: false,
        healthListen: { host: '0.0.0.0', port: 8080 },
        logFormat: 'json',
        logLevel: 'debug',
      },
      expect.anything(),
    );
  });

  test('missing flags are absent or have their default', async () => {
    await run('run ./policies');
    expect(runCommand).toHaveBeenCalledWith(['./policies'], { logLevel: 'info' }, expect.anything());
    await run('simulate');
    const listen = { host: '127.0.0.1', port: 0 };
    expect(simulate).toHaveBeenCalledWith({ listen, timeScale: 1 }, expect.anything());
    await run('get');
    expect(getCommand).toHaveBeenCalledWith(undefined, undefined, { output: 'table' }, expect.anything());
  });

  test('reach the other commands', async () => {
    await run('get cvp production -A -w -o json');
    const shown = { allNamespaces: true, watch: true, output: 'json' };
    expect(getCommand).toHaveBeenCalledWith('cvp', 'production', shown, expect.anything());
    await run('pause cvp/a -n logging');
    expect(pauseCommand).toHaveBeenCalledWith('cvp/a', { namespace: 'logging' }, expect.anything());
    await run('resume cvp/a --dir d');
    expect(resumeCommand).toHaveBeenCalledWith('cvp/a', { dir: 'd' }, expect.anything());
    await run('pause --all --operator-namespace o --context c', { LOGFLEET_NAMESPACE: 'mine' });
    const all = { all: true, operatorNamespace: 'o', context: 'c', namespace: 'mine' };
    expect(pauseCommand).toHaveBeenLastCalledWith(undefined, all, expect.anything());
    await run('resume --all --dir d');
    expect(resumeCommand).toHaveBeenLastCalledWith(undefined, { all: true, dir: 'd' }, expect.anything());
    await run('approve cvp/a --stage canary --dir d');
    expect(approveCommand).toHaveBeenCalledWith('cvp/a', { stage: 'canary', dir: 'd' }, expect.anything());
    await run('retry cvp/a -n logging', { LOGFLEET_OPERATOR_NAMESPACE: 'o' });
    expect(retryCommand).toHaveBeenCalledWith('cvp/a', { namespace: 'logging' }, expect.anything());
    await run('abort cvp/a');
    expect(abortCommand).toHaveBeenCalledWith('cvp/a', {}, expect.anything());
    await run('validate a.yaml -');
    expect(validateCommand).toHaveBeenCalledWith(['a.yaml', '-'], { output: 'text' }, expect.anything());
    await run('manifests -n ops --namespaces a,b --secrets s --image i');
    expect(manifestsCommand).toHaveBeenCalledWith(
      { namespace: 'ops', namespaces: ['a', 'b'], secrets: ['s'], image: 'i' },
      expect.anything(),
    );
    await run('crds');
    expect(crdsCommand).toHaveBeenCalledOnce();
  });

  test('can come from the environment, and the command line takes precedence', async () => {
    const env = {
      LOGFLEET_LISTEN: '[::1]:9',
      LOGFLEET_TIME_SCALE: '2.5',
      LOGFLEET_COLLECTORS: '5',
      LOGFLEET_JOURNAL: '',
    };
    await run('simulate --collectors 7', env);
    expect(simulate).toHaveBeenCalledWith(
      { listen: { host: '::1', port: 9 }, timeScale: 2.5, collectors: 7 },
      expect.anything(),
    );
  });

  test.each([
    ['true', true],
    ['0', false],
    ['no', false],
  ])('a switch in the environment can be %s', async (text, watch) => {
    await run('run d', { LOGFLEET_WATCH: text });
    expect(runCommand).toHaveBeenCalledWith(['d'], { logLevel: 'info', watch }, expect.anything());
  });
});

describe('the environment', () => {
  test('separates several values of a flag by commas', async () => {
    await run('export errors.yaml', { LOGFLEET_VOLUME: 'a=/a, b=/b', LOGFLEET_SECRET: 'one.yaml,two.yaml' });
    const volume = new Map([
      ['a', '/a'],
      ['b', '/b'],
    ]);
    const options = { volume, secret: ['one.yaml', 'two.yaml'], logLevel: 'error' };
    expect(exportCommand).toHaveBeenCalledWith('errors.yaml', options, expect.anything());
  });

  test('does not select a directory or cluster if the command line selects the other', async () => {
    const env = { LOGFLEET_KUBECONFIG: 'k', LOGFLEET_DIR: 'd' };
    await run('retry cvp/a --context c', env);
    expect(retryCommand).toHaveBeenLastCalledWith('cvp/a', { context: 'c', kubeconfig: 'k' }, expect.anything());
    await run('retry cvp/a --dir policies', env);
    expect(retryCommand).toHaveBeenLastCalledWith('cvp/a', { dir: 'policies' }, expect.anything());
  });

  test('does not set -o of export', async () => {
    await run('export --query a --from -1h --to now', { LOGFLEET_OUTPUT: 'json' });
    const options = { query: 'a', from: '-1h', to: 'now', logLevel: 'error' };
    expect(exportCommand).toHaveBeenCalledWith(undefined, options, expect.anything());
  });
});

describe('wrong usage ends with 2 and names the mistake', () => {
  test.each([
    ['', {}, 'Usage: logfleet'],
    ['simulat', {}, "logfleet: unknown command 'simulat'\n(Did you mean simulate?)"],
    ['run --wach', {}, "logfleet run: unknown option '--wach'\n(Did you mean --watch?)"],
    ['validate', {}, "logfleet validate: missing required argument 'FILE'"],
    ['crds now', {}, 'logfleet crds: too many arguments'],
    ['simulate --listen 8443', {}, 'Use HOST:PORT'],
    ['simulate --listen :99999', {}, 'Use HOST:PORT'],
    ['simulate --collectors many', {}, 'Use a whole number'],
    ['simulate --time-scale 0', {}, 'Set a number greater than 0'],
    ['simulate --collectors 5 --scenario f', {}, "'--collectors <n>' cannot be used with option '--scenario <file>'"],
    ['run --namespaces a,,b', {}, 'Write a comma-separated list of names'],
    ['run --log-level loud', {}, 'Allowed choices are debug, info, warn, error'],
    ['run --watch', {}, '--watch is only for directories'],
    ['run --dir d', {}, 'takes directories as arguments: write logfleet run DIR'],
    ['run', { LOGFLEET_DIR: 'd' }, 'LOGFLEET_DIR is set, but this command takes directories as arguments'],
    ['run d --context c', {}, '--context is for a cluster, but d is a directory'],
    ['run d --no-leader-election', {}, 'is for a cluster, but d is a directory'],
    ['get --dir d --context c', {}, 'cannot be used with'],
    ["run a ''", {}, 'the argument DIR is empty: write a value'],
    ["get cvp ''", {}, 'the argument NAME is empty: write a value'],
    ["get --dir ''", {}, '--dir is empty: write a value, or remove --dir'],
    ["export a.yaml --secret ''", {}, '--secret is empty: write a value, or remove --secret'],
    ['forget cvp/a', {}, '--dir is missing: add --dir DIR'],
    ['pause', {}, 'write pause cvp/production for a policy, pause sx/errors for an export, or pause --all'],
    ['resume cvp/a --all', {}, '--all means all resources, but cvp/a is one resource'],
    ['pause --all -n logging', {}, '--all means all namespaces, but -n selects one: remove -n'],
    ['pause cvp/a --operator-namespace o', {}, '--operator-namespace selects the operator of a cluster'],
    ['pause --all --dir d --operator-namespace o', {}, '--operator-namespace selects the operator of a cluster'],
    ['approve', {}, "logfleet approve: missing required argument 'KIND/NAME'"],
    ['retry', {}, "logfleet retry: missing required argument 'KIND/NAME'"],
    [
      'run',
      { LOGFLEET_LOG_LEVEL: 'loud' },
      "the environment variable LOGFLEET_LOG_LEVEL has the invalid value 'loud'. Allowed choices",
    ],
    [
      'run d',
      { LOGFLEET_WATCH: 'perhaps' },
      "the environment variable LOGFLEET_WATCH has the invalid value 'perhaps'. Write true or false.",
    ],
  ])('logfleet %s %o', async (line, env, message) => {
    const { status, stdout, stderr } = await run(line, env as Record<string, string>);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(message);
    for (const command of [runCommand, simulate, getCommand]) expect(command).not.toHaveBeenCalled();
  });
});

describe('the exit status', () => {
  test('is 2 for wrong usage of the simulator', async () => {
    vi.mocked(simulate).mockRejectedValueOnce(new FlagError('--to is not later than --from'));
    const usage = 'logfleet simulate: --to is not later than --from\nSee logfleet simulate --help.\n';
    expect(await run('simulate')).toMatchObject({ status: 2, stderr: usage });
  });

  test('is the result of the command', async () => {
    vi.mocked(validateCommand).mockResolvedValueOnce(1);
    expect(await run('validate a.yaml')).toMatchObject({ status: 1 });
  });

  test.each([
    [new UsageError('there is no kind cvx: write cvp'), 2, 'logfleet get: there is no kind cvx: write cvp\n'],
    [
      new LogfleetError({ code: 'host.refused', message: 'the server refuses', handling: { kind: 'stall' } }),
      1,
      'logfleet get: the server refuses\n',
    ],
    [new TypeError('x is undefined'), 1, 'this is a bug in logfleet'],
  ])('of a command that throws: %s', async (error, status, message) => {
    vi.mocked(getCommand).mockRejectedValueOnce(error);
    const result = await run('get');
    expect(result.status).toBe(status);
    expect(result.stderr).toContain(message);
  });

  test('comes with a message in which line breaks are the only control characters', async () => {
    vi.mocked(getCommand).mockRejectedValueOnce(new UsageError('one \u001b[31mproblem\nand another'));
    expect((await run('get')).stderr).toBe('logfleet get: one  [31mproblem\nand another\nSee logfleet get --help.\n');
    vi.mocked(getCommand).mockRejectedValueOnce(new SyntaxError('unexpected token \u001b[31m'));
    expect((await run('get')).stderr).toMatch(/\nSyntaxError: unexpected token {2}\[31m\n {4}at /);
  });

  test.each([
    [new LogfleetError({ code: 'cli.listen', message: 'the port is in use', handling: { kind: 'wait' } }), 1],
    [new UsageError('./a is not a directory'), 2],
    [new TypeError('x is undefined'), 1],
  ])('of a command that logs JSON and throws: %s', async (error, status) => {
    vi.mocked(runCommand).mockRejectedValueOnce(error);
    const result = await run('run', { LOGFLEET_LOG_FORMAT: 'json' });
    expect(result.status).toBe(status);
    expect(JSON.parse(result.stderr)).toMatchObject({
      ...{ level: 'error', message: 'logfleet run failed', error: { message: error.message } },
    });
  });

  test('is 130 after SIGINT, and that of the command after SIGTERM', async () => {
    for (const [signal, status] of [
      ['SIGINT', 130],
      ['SIGTERM', 0],
    ] as const) {
      const context = recordingContext();
      vi.mocked(runCommand).mockImplementationOnce(async () => {
        context.stop(signal);
        return 0;
      });
      expect(await runProgram(['run'], context)).toBe(status);
    }
  });

  test('is 130 for a wait that a signal interrupts', async () => {
    const context = recordingContext();
    vi.mocked(runCommand).mockImplementationOnce(async () => {
      context.stop('SIGTERM');
      throw context.signal.reason;
    });
    expect(await runProgram(['run'], context)).toBe(130);
    expect(context.stderr.text).toBe('');
  });
});
