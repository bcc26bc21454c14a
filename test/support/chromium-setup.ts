/** Installs Chromium if it is missing, for the vitest project `browser`. */
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
