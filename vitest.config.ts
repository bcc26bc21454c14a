/**
 * The tests by folder, as projects of one run. Only `cluster` and `e2e` need the control plane, and it starts only when a
 * file of theirs is run.
 */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const controlPlane = './test/support/control-plane-setup.ts';

function project(name: string, globalSetup?: string) {
  return {
    extends: true as const,
    test: { name, include: [`test/${name}/**/*.test.ts`], ...(globalSetup ? { globalSetup: [globalSetup] } : {}) },
  };
}

export default defineConfig({
  test: {
    projects: [
      project('unit'),
      project('contract'),
      project('simulation'),
      project('cluster', controlPlane),
      project('e2e', controlPlane),
    ],
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Guards against a test that hangs; no test asserts on how long it took.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
  },
});
