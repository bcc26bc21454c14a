/**
 * `make check`, `make test` and `make soak`: runs checks, then tests. Continues after failures. The output ends with
 * one line per failure, followed by the line `N passed, N failed`. Exit status: 1 if anything failed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { freemem, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestCounts } from './counting-reporter.ts';

const root = join(import.meta.dirname, '..');
const programs = join(root, 'node_modules/.bin');

const style = { name: 'style', program: join(programs, 'biome'), args: ['check', '--error-on-warnings'] };
const types = { name: 'types', program: join(programs, 'tsc'), args: ['-p', '.'] };
const pageTypes = { name: 'page types', program: join(programs, 'tsc'), args: ['-p', 'src/cli/ui/page'] };
const imports = {
  name: 'imports',
  program: join(programs, 'depcruise'),
  args: ['--output-type', 'err-long', 'src', 'simulator', 'bench', 'demo', 'scripts', 'tools'],
};
const generatedFiles = { name: 'generated files', program: process.execPath, args: ['scripts/verify.ts'] };
const tools = { name: 'tools', program: process.execPath, args: ['scripts/tools.ts'] };

/** One run of vitest. */
interface TestRun {
  /** Names of vitest projects to run. `!` excludes a project. */
  readonly projects: readonly string[];
  /** Priority, as for the `nice` command: from 0 (highest) to 19 (lowest). */
  readonly nice: number;
  /** True if the run needs programs that `make tools` installs. */
  readonly needsTools?: true;
}

interface Suite {
  readonly checks: readonly { readonly name: string; readonly program: string; readonly args: readonly string[] }[];
  /**
   * Vitest runs that start at the same time. The first run's output is shown immediately, and the output of each other
   * run is shown when that run ends.
   */
  readonly runs: readonly TestRun[];
}

/**
 * Environment variables that make programs written in Go, such as kubectl and kube-apiserver, collect garbage less
 * often. The programs then need more memory, but a third less CPU time.
 */
const fastGo = { GOGC: '500' };

/**
 * Folder for temporary files of tests: a file system in memory if there is enough room, otherwise the usual folder.
 * Many tests wait until files are written, so they take a tenth less CPU time if the files are in memory.
 */
const temporaryFolder = hasRoom('/dev/shm') ? '/dev/shm' : tmpdir();

function hasRoom(memoryFolder: string): boolean {
  const needed = 8 * 1024 ** 3;
  try {
    const { bavail, bsize } = statfsSync(memoryFolder);
    return bavail * bsize >= needed && freemem() >= needed;
  } catch {
    return false;
  }
}

/** Vitest projects whose tests start programs. Most of these programs come from `make tools`. */
const waiting = ['browser', 'cluster', 'cluster-wide', 'e2e', 'monitoring', 'side-by-side', 'store'];

const suites: Readonly<Record<string, Suite>> = {
  check: { checks: [style, types, pageTypes, imports, generatedFiles], runs: [{ projects: ['unit'], nice: 0 }] },
  test: {
    checks: [style, types, pageTypes, imports, generatedFiles, tools],
    runs: [
      // This run has a low priority, so that the programs that the other run starts get enough CPU time.
      { projects: ['soak', ...waiting].map((each) => `!${each}`), nice: 15 },
      { projects: waiting, nice: 0, needsTools: true },
    ],
  },
  soak: { checks: [tools], runs: [{ projects: ['soak'], nice: 0 }] },
};

const name = process.argv[2] ?? 'test';
const suite = suites[name];
if (!suite) throw new Error(`There is no suite ${name}. Choose one of ${Object.keys(suites).join(', ')}.`);

console.log(`== ${suite.checks.map((check) => check.name).join(', ')}`);
const checked = await Promise.all(suite.checks.map(({ program, args }) => run(program, args)));
const failedChecks = suite.checks.filter((_, index) => !checked[index]);
console.log('== tests');
const runs = suite.runs.filter(({ needsTools }) => !needsTools || !failedChecks.includes(tools));
const counts = await Promise.all(runs.map((each, index) => runTests(each, index === 0)));

const failures = [...failedChecks.map((check) => check.name), ...counts.flatMap((each) => each.failures)];
for (const failure of failures) console.log(`failed: ${failure}`);
const passed = counts.reduce((sum, each) => sum + each.passed, suite.checks.length - failedChecks.length);
console.log(`${passed} passed, ${failures.length} failed`);
process.exitCode = failures.length === 0 ? 0 : 1;

interface TestRunOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly nice?: number;
  /**
   * True (default) to show the program's output immediately. Otherwise, the output is shown after the program has
   * ended.
   */
  readonly isShown?: boolean;
}

/** Runs a program, and resolves to true if its exit status is 0. */
async function run(
  program: string,
  args: readonly string[],
  { env = {}, nice = 0, isShown = true }: TestRunOptions = {},
): Promise<boolean> {
  const output = isShown ? 'inherit' : 'pipe';
  const child = spawn(program, args, {
    ...{ cwd: root, env: { ...process.env, ...env } },
    stdio: ['inherit', output, output],
  });
  if (child.pid !== undefined && nice > 0) setPriority(child.pid, nice);
  const held = Promise.all([child.stdout, child.stderr].map((stream) => (stream ? text(stream) : '')));
  try {
    const [status] = await once(child, 'close');
    process.stdout.write((await held).join(''));
    return status === 0;
  } catch (error) {
    console.error((error as Error).message);
    return false;
  }
}

async function runTests({ projects, nice }: TestRun, isShown: boolean): Promise<TestCounts> {
  const directory = mkdtempSync(join(temporaryFolder, 'logfleet-test-'));
  const file = join(directory, 'counts.json');
  const reporters = ['--reporter=default', '--reporter=./scripts/counting-reporter.ts'];
  const named = projects.map((project) => `--project=${project}`);
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const env = { ...fastGo, TMPDIR: temporaryFolder, LOGFLEET_TEST_COUNTS: file };
  const passed = await run(process.execPath, [vitest, 'run', ...named, ...reporters], { env, nice, isShown });
  const counts = readCounts(file);
  rmSync(directory, { recursive: true });
  // Vitest can fail without a failed test, for example because of a set-up file. This counts as one failure.
  return passed || counts.failures.length > 0 ? counts : { ...counts, failures: ['vitest'] };
}

function readCounts(file: string): TestCounts {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { passed: 0, failures: ['vitest'] };
  }
}
