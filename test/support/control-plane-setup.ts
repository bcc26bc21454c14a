/** Starts the control plane for the vitest projects that need a Kubernetes cluster. */
import type { TestProject } from 'vitest/node';
import { type ControlPlane, type ControlPlaneAccess, startControlPlane } from './control-plane-process.ts';

declare module 'vitest' {
  interface ProvidedContext {
    controlPlane: ControlPlaneAccess;
  }
}

/** Vitest projects that need their own control plane, because their operators manage all namespaces (L2). */
const separate = ['cluster-wide', 'side-by-side'];

interface SharedControlPlane {
  readonly started: Promise<ControlPlane>;
  users: number;
}

/**
 * Control planes shared by the vitest projects. They are stored on the global object, because each project loads its
 * own copy of this file.
 */
const place = globalThis as { logfleetControlPlanes?: Map<string, SharedControlPlane> };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  place.logfleetControlPlanes ??= new Map();
  const { logfleetControlPlanes: planes } = place;
  const name = separate.includes(project.name) ? project.name : 'shared';
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
