/** Global vitest setup for the project `browser`: installs Chromium if it is missing. Each test file starts its own browser. */
import type { TestProject } from 'vitest/node';
import { chromiumProgram } from '../../tools/installer/chromium.ts';

declare module 'vitest' {
  interface ProvidedContext {
    chromium: string;
  }
}

export default async function setup(project: TestProject): Promise<void> {
  project.provide('chromium', await chromiumProgram());
}
