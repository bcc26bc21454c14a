/**
 * The tests by folder, as projects of one run. Only `cluster` and `e2e` need the control plane, only `store` an S3 gateway, and
 * each starts only when a file of theirs is run. The first two wait for real time most of the while: they come last, more of
 * them at once, when nothing else needs the processors.
 */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const controlPlane = './test/support/control-plane-setup.ts';
const s3Gateway = './test/support/s3-gateway-setup.ts';

const processors = Math.max(2, availableParallelism() - 1);

function project(name: string, globalSetup?: string) {
  const setup = globalSetup ? { globalSetup: [globalSetup] } : {};
  const waits = globalSetup === controlPlane;
  return {
    extends: true as const,
    test: {
      name,
      include: [`test/${name}/**/*.test.ts`],
      sequence: { groupOrder: waits ? 1 : 0 },
      maxWorkers: waits ? 2 * processors : processors,
      ...setup,
    },
  };
}

export default defineConfig({
  test: {
    projects: [
      project('unit'),
      project('contract'),
      project('simulation'),
      project('store', s3Gateway),
      project('cluster', controlPlane),
      project('e2e', controlPlane),
    ],
    // Guards against a test that hangs; no test asserts on how long it took.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
  },
});
