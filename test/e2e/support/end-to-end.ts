/** Vitest's `test`, extended for tests that start real processes. The tests in a file share one simulator. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { ManifestDirectory } from './manifest-directory.ts';
import { expectWithinLimits } from './oracles.ts';
import { Program, type ProgramOptions, runToEnd } from './program.ts';
import { Simulator, Tenant } from './simulator.ts';

/** Starts logfleet. The program is killed at the end of the test. */
export type Start = (args: readonly string[], options?: ProgramOptions) => Promise<Program>;

let tenants = 0;

/**
 * Runs the program once until it exits normally. Only then does Node.js store the compiled files, which makes later
 * starts faster.
 */
async function compileOnce(directory: string): Promise<void> {
  await runToEnd(['run', join(directory, 'nowhere')]);
}

export const test = base
  // biome-ignore lint/correctness/noEmptyPattern: vitest requires an object pattern, even an empty one.
  .extend('simulator', { scope: 'file' }, async ({}, { onCleanup }) => {
    const directory = mkdtempSync(join(tmpdir(), 'logfleet-simulator-'));
    writeFileSync(join(directory, 'scenario.yaml'), JSON.stringify(Simulator.scenario));
    await compileOnce(directory);
    const simulator = await Simulator.start(directory);
    onCleanup(async () => {
      await simulator.stop();
      rmSync(directory, { recursive: true, force: true });
    });
    return simulator;
  })
  .extend('tenant', async ({ simulator }, { onCleanup }) => {
    const tenant = new Tenant(simulator, `tenant${++tenants}`);
    await tenant.equip({});
    onCleanup(() => expectWithinLimits(tenant.journal()));
    return tenant;
  })
  // biome-ignore lint/correctness/noEmptyPattern: vitest requires an object pattern, even an empty one.
  .extend('manifests', async ({}, { onCleanup }) => {
    const manifests = await ManifestDirectory.make();
    onCleanup(() => manifests.remove());
    return manifests;
  })
  // biome-ignore lint/correctness/noEmptyPattern: vitest requires an object pattern, even an empty one.
  .extend('start', async ({}, { onCleanup }): Promise<Start> => {
    const programs: Program[] = [];
    onCleanup(async () => {
      await Promise.all(programs.map((program) => program.kill()));
    });
    return async (args, options) => {
      const program = await Program.start(args, options);
      programs.push(program);
      return program;
    };
  })
  // The simulator's collector lists show an upgrade immediately, so the operator needs only a short grace period.
  .extend(
    'run',
    ({ start, tenant, manifests }) =>
      (flags: readonly string[] = [], options: ProgramOptions = {}) =>
        start(['run', manifests.path, '--grace', '1s', ...flags], {
          ...options,
          env: { ...tenant.env, ...options.env },
        }),
  );
