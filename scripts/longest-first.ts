/** Orders test files so that the slowest files start first. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Test files that run for more than half a minute, longest first. */
const longest = [
  'test/e2e/docs.test.ts',
  'test/e2e/package.test.ts',
  'test/cluster-wide/reinstall.test.ts',
  'test/e2e/demo.test.ts',
  'test/browser/page.test.ts',
  'test/cluster/export-job-run.test.ts',
  'test/cluster/operator-run.test.ts',
  'test/e2e/staged-run.test.ts',
  'test/cluster/export-run.test.ts',
  'test/cluster/restore.test.ts',
  'test/e2e/store-access.test.ts',
  'test/cluster/rights.test.ts',
  'test/cluster-wide/host-kubernetes.test.ts',
  'test/e2e/failover.test.ts',
  'test/e2e/export-run.test.ts',
  'test/cluster/chart.test.ts',
  'test/e2e/directory-run.test.ts',
  'test/e2e/crash.test.ts',
  'test/integration/destination/store-silence.test.ts',
  'test/integration/service/client-over-tls.test.ts',
  'test/integration/export/lies/lies.test.ts',
  'test/integration/host/directory/directory-damage.test.ts',
  'test/integration/policy/rule-histories.test.ts',
  'test/integration/export/export-run.test.ts',
  'test/integration/schedule/schedule-cost.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((left, right) => groupOf(left) - groupOf(right) || rankOf(left) - rankOf(right));
  }
}

function groupOf({ project }: TestSpecification): number {
  return project.config.sequence.groupOrder;
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = longest.findIndex((file) => moduleId.endsWith(`/${file}`));
  return rank === -1 ? longest.length : rank;
}
