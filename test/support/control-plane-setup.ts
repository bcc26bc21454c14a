/**
 * vitest's global set-up of the projects that need a cluster. The projects share one control plane, as long as one of them needs it.
 * The project `cluster-wide` has its own: its operators follow all namespaces, and so the resources of other tests too (L2).
 */
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
const place = globalThis as { logfleetControlPlanes?: Map<string, Shared> };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  place.logfleetControlPlanes ??= new Map();
  const { logfleetControlPlanes: planes } = place;
  const name = project.name === 'cluster-wide' ? project.name : 'shared';
  const shared = planes.get(name) ?? { started: startControlPlane(), users: 0 };
  planes.set(name, shared);
  shared.users++;
  const { access, stop } = await shared.started;
  project.provide('controlPlane', access);
  return async () => {
    shared.users--;
    if (shared.users > 0) return;
    planes.delete(name);
    await stop();
  };
}
