/** Tests the start script `bin/logfleet.js` with a shell, with npx, and with an old Node version. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, cpSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const launcher = join(root, 'bin/logfleet.js');

/** Makes Node report an old version number. */
const asNode18 = [
  '--import',
  'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"18.0.0"}})',
];

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'logfleet-launcher-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

interface LauncherResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<LauncherResult> {
  return new Promise((resolve) => {
    const options = { cwd: directory, env: { ...process.env, ...env } };
    const child = execFile(program, args, options, (_, stdout, stderr) => {
      resolve({ status: child.exitCode, stdout, stderr });
    });
  });
}

describe.each([
  ['Node 24', []],
  ['an older Node', asNode18],
])('started by %s', (_, flags) => {
  test('runs commands on Node 24 from any directory, with their exit status', async () => {
    const version = await run(process.execPath, [...flags, launcher, 'version']);
    expect(version).toMatchObject({ status: 0, stderr: '' });
    expect(version.stdout).toMatch(/^logfleet \d+\.\d+\.\d+ \(node 24\./);
    expect(await run(process.execPath, [...flags, launcher, 'no-such-command'])).toMatchObject({
      status: 2,
      stdout: '',
    });
  });

  test('the operator starts without V8 warnings', async () => {
    expect(await run(process.execPath, [...flags, launcher, 'run', 'nowhere'])).toEqual({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(/^logfleet run: .*nowhere is not a directory; .*\n$/),
    });
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 0],
  ] as const)('%s ends the command after its cleanup', async (signal, status) => {
    const child = spawn(process.execPath, [...flags, launcher, 'simulate', '--collectors', '1'], {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const { caFile } = JSON.parse(await firstLine(child)) as { readonly caFile: string };
    child.kill(signal);
    expect(await once(child, 'exit')).toEqual([status, null]);
    expect(existsSync(caFile)).toBe(false);
  });
});

test('reports that standard output goes to a full disk, without a stack trace', async () => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [launcher, 'crds'], { cwd: directory, stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  const reported = text(child.stderr as Readable);
  expect(await once(child, 'exit')).toEqual([1, null]);
  expect(await reported).toMatch(/^logfleet: cannot write to standard output: ENOSPC: .*; free space, .*\n$/);
});

test('continues if standard error goes to a full disk', async () => {
  const full = openSync('/dev/full', 'w');
  const args = [launcher, 'no-such-command'];
  const child = spawn(process.execPath, args, { cwd: directory, stdio: ['ignore', 'pipe', full] });
  closeSync(full);
  expect(await once(child, 'exit')).toEqual([2, null]);
});

test('SIGINT ends a command that is reading standard input', async () => {
  const child = spawn(process.execPath, [launcher, 'validate', '-'], {
    cwd: directory,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.stdin.on('error', () => {});
  // A pipe cannot hold 4 MB, so the write ends only after the command has begun to read.
  await new Promise((resolve) => child.stdin.write(Buffer.alloc(4 * 1024 * 1024), resolve));
  child.kill('SIGINT');
  expect(await once(child, 'exit')).toEqual([130, null]);
});

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('its standard output is not a pipe');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return line;
}

describe('one line reports an incomplete installation:', () => {
  beforeEach(() => {
    mkdirSync(join(directory, 'bin'));
    cpSync(launcher, join(directory, 'bin/logfleet.js'));
    cpSync(join(root, 'package.json'), join(directory, 'package.json'));
  });

  test('no packages', async () => {
    const { status, stdout, stderr } = await run(process.execPath, [join(directory, 'bin/logfleet.js'), 'version']);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^logfleet: its packages are not installed: run "npm ci" in .*\n$/);
  });

  test.each([
    ['npm did not install the package of Node', [], 'npm ci'],
    ['npm did not run the install script of Node', ['node'], 'npm rebuild node --ignore-scripts=false'],
  ])('an old Node, because %s', async (_, packages, mending) => {
    for (const name of ['commander', ...packages]) {
      mkdirSync(join(directory, 'node_modules', name), { recursive: true });
      cpSync(join(root, 'node_modules', name, 'package.json'), join(directory, 'node_modules', name, 'package.json'));
    }
    const arguments_ = [...asNode18, join(directory, 'bin/logfleet.js'), 'version'];
    const { status, stdout, stderr } = await run(process.execPath, arguments_);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      new RegExp(`^logfleet: this is Node 18\\.0\\.0, and it needs 24: run "${mending}" in .*\n$`),
    );
  });
});

describe('npx', () => {
  test('runs the checkout from another directory, without a build and without asking a registry', async () => {
    const env = { npm_config_cache: join(directory, 'npm-cache'), npm_config_offline: 'true' };
    const { status, stdout } = await run('npx', ['--prefix', root, 'logfleet', 'version'], env);
    expect(stdout).toMatch(/^logfleet \d+\.\d+\.\d+ \(node 24\./);
    expect(status).toBe(0);
  });
});

describe('--help', () => {
  test('loads only commander and the files that define the commands', async () => {
    const report =
      'import { registerHooks } from "node:module"; const urls = [];' +
      'registerHooks({ load(url, context, next) { if (url.startsWith("file:")) urls.push(url); return next(url, context); } });' +
      'process.on("exit", () => process.stderr.write(JSON.stringify(urls)));';
    const { status, stderr } = await run(process.execPath, [
      '--import',
      `data:text/javascript,${report}`,
      launcher,
      '--help',
    ]);
    expect(status).toBe(0);
    const loaded = (JSON.parse(stderr) as string[]).map((url) => fileURLToPath(url).slice(root.length));
    const packages = loaded.filter((path) => path.startsWith('node_modules/')).map((path) => path.split('/')[1]);
    expect(new Set(packages)).toEqual(new Set(['commander']));
    expect(loaded.filter((path) => /^(?:src|simulator)\//.test(path)).sort()).toEqual([
      'simulator/command.ts',
      'src/api/annotations.ts',
      'src/api/kinds.ts',
      'src/base/clock.ts',
      'src/base/duration.ts',
      'src/base/errors.ts',
      'src/base/flag-values.ts',
      'src/base/shell-word.ts',
      'src/base/time-text.ts',
      'src/base/time-units.ts',
      'src/base/trailing-slashes.ts',
      'src/cli/command/context.ts',
      'src/cli/command/flags.ts',
      'src/cli/command/invocation.ts',
      'src/cli/command/package-folder.ts',
      'src/cli/command/store-address.ts',
      'src/cli/command/usage-error.ts',
      'src/cli/commands.ts',
      'src/cli/export/field-flags.ts',
      'src/cli/flag-conflicts.ts',
      'src/cli/process-context.ts',
      'src/cli/program.ts',
      'src/main.ts',
    ]);
  });
});
