/** Starts an Azurite process that all test files in the vitest project `store` share. */
import type { TestProject } from 'vitest/node';
import { Azurite, type AzuriteAccess } from './azurite.ts';

declare module 'vitest' {
  interface ProvidedContext {
    azurite: AzuriteAccess;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const azurite = await Azurite.start();
  project.provide('azurite', azurite.access);
  return () => azurite.stop();
}
