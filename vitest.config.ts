/**
 * The tests by folder, as projects of one run. `cluster`, `cluster-wide` and `e2e` need a control plane, and `store` needs emulators of object stores.
 * Each starts only when a file of these projects runs.
 *
 * The projects run in three groups, one after the other. Tests of the first group keep a processor busy. Simulated histories have
 * threads of their own. Tests of the last group start programs and wait for them. `soak` has the tests that take too long for every
 * change; only `make soak` runs them.
 *
 * The files of a worker share its modules, because modules that are already compiled halve the time. So a test must not change what
 * other files see, such as a global or an environment variable.
 */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/longest-first.ts';

const controlPlane = './test/support/control-plane-setup.ts';
const s3Gateway = './test/support/s3-gateway-setup.ts';
const azurite = './test/support/azurite-setup.ts';
const fakeGcsServer = './test/support/fake-gcs-server-setup.ts';

const processors = Math.max(2, availableParallelism() - 1);

const working = { sequence: { groupOrder: 0 }, maxWorkers: processors };
const threaded = { sequence: { groupOrder: 1 }, maxWorkers: 1 };
/** Tests that start many programs at once get a longer time limit. */
const waiting = { sequence: { groupOrder: 2 }, maxWorkers: 2 * processors, testTimeout: 400_000, hookTimeout: 400_000 };

function project(name: string, turn: typeof working | typeof waiting, globalSetup: readonly string[] = []) {
  const folder = name === 'simulator' ? 'simulator/test' : `test/${name}`;
  return {
    extends: true as const,
    test: { name, include: [`${folder}/**/*.test.ts`], globalSetup: [...globalSetup], ...turn },
  };
}

export default defineConfig({
  test: {
    projects: [
      project('unit', working),
      project('integration', working),
      project('simulator', working),
      project('contract', working),
      project('store', working, [s3Gateway, azurite, fakeGcsServer]),
      project('simulation', threaded),
      project('soak', threaded),
      project('cluster', waiting, [controlPlane]),
      project('cluster-wide', waiting, [controlPlane]),
      project('e2e', waiting, [controlPlane]),
    ],
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Time limits in ms that only a hanging test exceeds, even on a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
