/**
 * vitest reporter that counts tests for `make test`. Writes `{passed, failed}` to the file in `LOGFLEET_TEST_COUNTS`.
 */
import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

export interface TestCounts {
  readonly passed: number;
  /** Number of failed tests, of test files that cannot be loaded, and of errors outside of tests. */
  readonly failed: number;
}

export default class CountingReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const file = process.env['LOGFLEET_TEST_COUNTS'];
    if (file) writeFileSync(file, JSON.stringify(count(modules, unhandled.length)));
  }
}

function count(modules: readonly TestModule[], unhandled: number): TestCounts {
  let passed = 0;
  let failed = unhandled;
  for (const module of modules) {
    failed += module.errors().length;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'passed') passed++;
      // Skipped tests and tests that did not run count as failed.
      else failed++;
    }
  }
  return { passed, failed };
}
