/** `make manifests`: prints what an installation into a cluster consists of, as one YAML stream for `kubectl apply -f -`. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { controlPlaneTools } from './tools.ts';

const { kubectl } = await controlPlaneTools();
const { status } = spawnSync(kubectl, ['kustomize', join(import.meta.dirname, '../manifests/cluster-wide')], {
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
