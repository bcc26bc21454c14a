/**
 * `make test`: checks style, types and generated files, then runs all tests. It continues after failures and ends with `N passed, N
 * failed`, in which each check counts as one. Exit status: 1 if anything failed.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestCounts } from './counting-reporter.ts';

const root = join(import.meta.dirname, '..');
const programs = join(root, 'node_modules/.bin');

interface Check {
  readonly name: string;
  readonly passed: boolean;
}

const checks: Check[] = [
  check('style', join(programs, 'biome'), ['check', '--error-on-warnings']),
  check('types', join(programs, 'tsc'), ['-p', '.']),
  check('generated files', process.execPath, ['scripts/verify.ts']),
  check('tools', process.execPath, ['scripts/tools.ts']),
];
const counts = runTests(checks.at(-1)?.passed === true);

const failedChecks = checks.filter((each) => !each.passed);
for (const { name } of failedChecks) console.log(`failed: ${name}`);
const failed = counts.failed + failedChecks.length;
console.log(`${counts.passed + checks.length - failedChecks.length} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function check(name: string, program: string, args: readonly string[]): Check {
  console.log(`== ${name}`);
  return { name, passed: run(program, args) };
}

function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): boolean {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
  if (error) console.error(error.message);
  return status === 0;
}

/** Runs the tests. Without tools, it leaves out the tests that need the control plane or the S3 gateway. */
function runTests(withTools: boolean): TestCounts {
  console.log('== tests');
  const directory = mkdtempSync(join(tmpdir(), 'logfleet-test-'));
  const file = join(directory, 'counts.json');
  const projects = withTools ? [] : ['cluster', 'cluster-wide', 'e2e', 'store'].map((name) => `--project=!${name}`);
  const reporters = ['--reporter=default', '--reporter=./scripts/counting-reporter.ts'];
  const arguments_ = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...projects, ...reporters];
  const passed = run(process.execPath, arguments_, { LOGFLEET_TEST_COUNTS: file });
  const counts = readCounts(file);
  rmSync(directory, { recursive: true });
  // vitest can also fail outside of tests, for example in a set-up file.
  return passed || counts.failed > 0 ? counts : { ...counts, failed: 1 };
}

function readCounts(file: string): TestCounts {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { passed: 0, failed: 1 };
  }
}
