/**
 * The tests by folder, as projects of one run. Only `cluster`, `cluster-wide` and `e2e` need a control plane, only `store` needs an
 * S3 gateway, and each starts only when a file of these projects is run. The projects run in three groups, one after the other: tests
 * that need processors; histories, which have threads of their own; and `cluster`, `cluster-wide` and `e2e`, which wait for real time
 * most of the while. More of the last group run at once, because nothing else needs the processors then. `soak` has the tests that take
 * too long for every change; only `make soak` runs it.
 *
 * The files of a worker share its modules: read, compiled and made fast once, they cost half as much. So no file may change what
 * others see, as a global or a variable of the environment.
 */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const controlPlane = './test/support/control-plane-setup.ts';
const s3Gateway = './test/support/s3-gateway-setup.ts';

const processors = Math.max(2, availableParallelism() - 1);

/** When a project's turn comes, and how many of its files run at once. */
const working = { sequence: { groupOrder: 0 }, maxWorkers: processors };
const threaded = { sequence: { groupOrder: 1 }, maxWorkers: 1 };
/** Side by side they take several times as long as alone. */
const waiting = { sequence: { groupOrder: 2 }, maxWorkers: 2 * processors, testTimeout: 180_000, hookTimeout: 180_000 };

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
      project('store', working, [s3Gateway]),
      project('simulation', threaded),
      project('soak', threaded),
      project('cluster', waiting, [controlPlane]),
      project('cluster-wide', waiting, [controlPlane]),
      project('e2e', waiting, [controlPlane]),
    ],
    isolate: false,
    // Guards against a test that hangs; no test asserts on how long it took.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
