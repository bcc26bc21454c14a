/**
 * Vitest reporter that counts tests for `make test`. Writes `{passed, failures}` to the file in `LOGFLEET_TEST_COUNTS`.
 */
import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

export interface TestCounts {
  readonly passed: number;
  /**
   * Lines of text: one for each failed test, for each test file that cannot be loaded, and for each error outside of
   * tests.
   */
  readonly failures: readonly string[];
}

export default class CountingReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const file = process.env['LOGFLEET_TEST_COUNTS'];
    if (file) writeFileSync(file, JSON.stringify(count(modules, unhandled)));
  }
}

function count(modules: readonly TestModule[], unhandled: readonly SerializedError[]): TestCounts {
  let passed = 0;
  const failures = unhandled.map((error) => `outside of tests: ${firstLine(error)}`);
  for (const module of modules) {
    failures.push(...module.errors().map((error) => `${module.relativeModuleId}: ${firstLine(error)}`));
    for (const test of module.children.allTests()) {
      const { state, errors } = test.result();
      if (state === 'passed') passed++;
      else {
        // Skipped tests and tests that did not run count as failed.
        const reason = errors?.[0] ? firstLine(errors[0]) : state;
        failures.push(`${module.relativeModuleId} > ${test.fullName}: ${reason}`);
      }
    }
  }
  return { passed, failures };
}

function firstLine({ message }: { readonly message: string }): string {
  return message.split('\n', 1)[0] ?? '';
}
