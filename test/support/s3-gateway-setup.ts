/** Starts an S3 gateway that all test files in the vitest project `store` share. */
import type { TestProject } from 'vitest/node';
import { S3Gateway, type S3GatewayAccess } from './s3-gateway.ts';

declare module 'vitest' {
  interface ProvidedContext {
    s3Gateway: S3GatewayAccess;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const gateway = await S3Gateway.start();
  project.provide('s3Gateway', gateway.access);
  return () => gateway.stop();
}
