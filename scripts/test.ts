/**
 * `make check`, `make test` and `make soak`: runs checks, then tests. It continues after failures and ends with `N passed, N failed`; each
 * check counts as one test. Exit status: 1 if anything failed.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestCounts } from './counting-reporter.ts';

const root = join(import.meta.dirname, '..');
const programs = join(root, 'node_modules/.bin');

const style = { name: 'style', program: join(programs, 'biome'), args: ['check', '--error-on-warnings'] };
const types = { name: 'types', program: join(programs, 'tsc'), args: ['-p', '.'] };
const pageTypes = { name: 'types of the page', program: join(programs, 'tsc'), args: ['-p', 'src/cli/ui/page'] };
const generatedFiles = { name: 'generated files', program: process.execPath, args: ['scripts/verify.ts'] };
const tools = { name: 'tools', program: process.execPath, args: ['scripts/tools.ts'] };

interface Suite {
  readonly checks: readonly { readonly name: string; readonly program: string; readonly args: readonly string[] }[];
  /** Names of vitest projects to run. A name after `!` is excluded. */
  readonly projects: readonly string[];
}

/** Test projects that need the control plane, emulators of object stores, promtool or Chromium, which `make tools` installs. */
const needTools = ['browser', 'cluster', 'cluster-wide', 'e2e', 'monitoring', 'store'];

const suites: Readonly<Record<string, Suite>> = {
  check: { checks: [style, types, pageTypes, generatedFiles], projects: ['unit'] },
  test: { checks: [style, types, pageTypes, generatedFiles, tools], projects: ['!soak'] },
  soak: { checks: [tools], projects: ['soak'] },
};

const name = process.argv[2] ?? 'test';
const suite = suites[name];
if (!suite) throw new Error(`There is no suite ${name}. Name one of ${Object.keys(suites).join(', ')}.`);

const failedChecks = suite.checks.filter((check) => {
  console.log(`== ${check.name}`);
  return !run(check.program, check.args);
});
const counts = runTests([
  ...suite.projects,
  ...(failedChecks.includes(tools) ? needTools.map((each) => `!${each}`) : []),
]);

for (const check of failedChecks) console.log(`failed: ${check.name}`);
const failed = counts.failed + failedChecks.length;
console.log(`${counts.passed + suite.checks.length - failedChecks.length} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): boolean {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
  if (error) console.error(error.message);
  return status === 0;
}

function runTests(projects: readonly string[]): TestCounts {
  console.log('== tests');
  const directory = mkdtempSync(join(tmpdir(), 'logfleet-test-'));
  const file = join(directory, 'counts.json');
  const reporters = ['--reporter=default', '--reporter=./scripts/counting-reporter.ts'];
  const named = projects.map((project) => `--project=${project}`);
  const passed = run(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...named, ...reporters], {
    LOGFLEET_TEST_COUNTS: file,
  });
  const counts = readCounts(file);
  rmSync(directory, { recursive: true });
  // vitest can also fail outside of tests, for example in a set-up file. This counts as a failure, too.
  return passed || counts.failed > 0 ? counts : { ...counts, failed: 1 };
}

function readCounts(file: string): TestCounts {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { passed: 0, failed: 1 };
  }
}
