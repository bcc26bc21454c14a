/** Starts one Azurite for all test files of the vitest project `store`. */
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
