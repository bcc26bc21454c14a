/** Vitest reporter that lists the tests that were skipped on a deployment, grouped by reason. */
import type { Reporter, TestModule } from 'vitest/node';

export default class UntriedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const namesByReason = untried(modules);
    if (namesByReason.size === 0) return;
    process.stdout.write('\nNot tested on this deployment:\n');
    for (const [reason, names] of namesByReason) {
      process.stdout.write(`\nbecause it ${reason}:\n${names.map((name) => `- ${name}\n`).join('')}`);
    }
  }
}

function untried(modules: readonly TestModule[]): ReadonlyMap<string, readonly string[]> {
  const namesByReason = new Map<string, string[]>();
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const result = test.result();
      // If a skipped test has no note, it was skipped because an earlier test failed.
      if (result.state !== 'skipped' || result.note === undefined) continue;
      namesByReason.set(result.note, [...(namesByReason.get(result.note) ?? []), test.fullName]);
    }
  }
  return namesByReason;
}
