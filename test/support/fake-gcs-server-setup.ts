/** Starts a fake-gcs-server that all test files in the vitest project `store` share. */
import type { TestProject } from 'vitest/node';
import { FakeGcsServer, type FakeGcsServerAccess } from './fake-gcs-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    fakeGcsServer: FakeGcsServerAccess;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await FakeGcsServer.start();
  project.provide('fakeGcsServer', server.access);
  return () => server.stop();
}
