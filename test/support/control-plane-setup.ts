/** vitest's global set-up of the projects that need a cluster: one control plane for all of them, as long as one needs it. */
import type { TestProject } from 'vitest/node';
import { type ControlPlane, type ControlPlaneAccess, startControlPlane } from './control-plane-process.ts';

declare module 'vitest' {
  interface ProvidedContext {
    controlPlane: ControlPlaneAccess;
  }
}

interface Shared {
  readonly started: Promise<ControlPlane>;
  users: number;
}

/** Each project loads this file for itself; what they share lives on the one process that they run in. */
const place = globalThis as { logfleetControlPlane?: Shared };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  place.logfleetControlPlane ??= { started: startControlPlane(), users: 0 };
  const shared = place.logfleetControlPlane;
  shared.users++;
  const { access, stop } = await shared.started;
  project.provide('controlPlane', access);
  return async () => {
    shared.users--;
    if (shared.users > 0) return;
    delete place.logfleetControlPlane;
    await stop();
  };
}
