/**
 * The folders of tests, as projects of one run. `cluster`, `cluster-wide`, `side-by-side`, `e2e` and `soak` need a control plane,
 * `store` and `soak` need emulators of object stores, `monitoring` needs promtool, and `browser` needs Chromium. These programs are started
 * only if the run has a test file that needs them.
 *
 * Three groups of projects run one after the other: tests that keep a processor busy, simulations that start threads of their own, and
 * tests that start programs and wait for them. `make test` runs the last group beside the others, in a vitest of its own. The tests of
 * `soak` take too long to run for every change, so only `make soak` runs them.
 *
 * All test files of a vitest worker use the same loaded modules, which halves the time. So a test must not change what other files see,
 * such as a global or an environment variable.
 */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/longest-first.ts';

const controlPlane = './test/support/control-plane-setup.ts';
const stores = ['s3-gateway', 'azurite', 'fake-gcs-server'].map((store) => `./test/support/${store}-setup.ts`);
const chromium = './test/support/chromium-setup.ts';

const processors = Math.max(2, availableParallelism() - 1);

/**
 * Settings for tests that mostly compute. They get one worker more than processors, because some of them wait for time
 * limits to expire.
 */
const working = { sequence: { groupOrder: 0 }, maxWorkers: processors + 1 };
const threaded = { sequence: { groupOrder: 1 }, maxWorkers: 1 };
/** Settings for tests that start many programs at the same time. */
const waiting = { sequence: { groupOrder: 2 }, maxWorkers: 2 * processors };

/** Tests for which `make soak` runs more random cases (`test/support/random-runs.ts`). */
const testsOfMany = [
  'simulator/test/log-data/made-up-data.test.ts',
  'simulator/test/search/status.test.ts',
  'test/integration/cli/plan-and-rollout.test.ts',
  'test/integration/export/lies/lies.test.ts',
  'test/integration/export/worker-speed.test.ts',
  'test/integration/host/directory/directory-damage.test.ts',
  'test/integration/policy/canary.test.ts',
  'test/integration/policy/field-changes.test.ts',
  'test/integration/policy/forecast.test.ts',
  'test/unit/api/manifest-file.test.ts',
  'test/unit/destination/commit-record.test.ts',
  'test/unit/export/covering.test.ts',
  'test/unit/export/interval-search-property.test.ts',
  'test/unit/host/directory/damaged-manifests.test.ts',
  'test/unit/policy/maintenance-calendar.test.ts',
  'test/unit/schedule/schedule-decision.test.ts',
  'test/unit/schedule/tick-calendar.test.ts',
  'test/unit/service/budget/property.test.ts',
];
const soak = { ...threaded, env: { LOGFLEET_RANDOM_RUNS_FACTOR: '20' } };

type Turn = typeof working | typeof waiting | typeof soak;

function project(name: string, turn: Turn, globalSetup: readonly string[] = [], more: readonly string[] = []) {
  const folder = name === 'simulator' ? 'simulator/test' : `test/${name}`;
  return {
    extends: true as const,
    test: { name, include: [`${folder}/**/*.test.ts`, ...more], globalSetup: [...globalSetup], ...turn },
  };
}

export default defineConfig({
  test: {
    projects: [
      project('unit', working),
      project('integration', working),
      project('simulator', working),
      project('contract', working),
      project('simulation', threaded),
      project('soak', soak, [controlPlane, ...stores], testsOfMany),
      project('store', waiting, stores),
      project('monitoring', waiting),
      project('browser', waiting, [chromium]),
      project('cluster', waiting, [controlPlane]),
      project('cluster-wide', waiting, [controlPlane]),
      project('side-by-side', waiting, [controlPlane]),
      project('e2e', waiting, [controlPlane]),
    ],
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Time limits in ms. A test that needs seconds on an idle machine can need minutes on a busy one, so these limits are
    // long: they only end tests that hang.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    teardownTimeout: 300_000,
    expect: { poll: { timeout: 300_000 } },
  },
});
