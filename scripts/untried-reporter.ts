/** Closes a run of the contract on a deployment with what was not tried there, and why: the notes of tests that were skipped. */
import type { Reporter, TestModule } from 'vitest/node';

export default class UntriedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const namesByReason = untried(modules);
    if (namesByReason.size === 0) return;
    process.stdout.write('\nNot tried on this deployment:\n');
    for (const [reason, names] of namesByReason) {
      process.stdout.write(`\nsince it ${reason}\n${names.map((name) => `- ${name}\n`).join('')}`);
    }
  }
}

function untried(modules: readonly TestModule[]): ReadonlyMap<string, readonly string[]> {
  const namesByReason = new Map<string, string[]>();
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const result = test.result();
      // Without a note it was skipped since what it needs has failed.
      if (result.state !== 'skipped' || result.note === undefined) continue;
      namesByReason.set(result.note, [...(namesByReason.get(result.note) ?? []), test.fullName]);
    }
  }
  return namesByReason;
}
