/** Provides Helm for the tests of `charts/logfleet`. */
import { join } from 'node:path';
import { type ReleasedProgram, releasedProgram } from './released-program.ts';
import { modulesDirectory } from './versions.ts';

export const helm: ReleasedProgram = {
  name: 'helm',
  purpose: 'the package manager for Kubernetes',
  neededBy: 'The tests of the Helm chart',
  variable: 'LOGFLEET_HELM',
  cacheName: 'helm',
  modulesDirectory: join(modulesDirectory, 'helm'),
  module: 'helm.sh/helm/v4',
  package: 'helm.sh/helm/v4/cmd/helm',
  versionVariable: 'helm.sh/helm/v4/internal/version.version',
  releases: 'https://get.helm.sh',
  archive: (version, system, processor) => {
    const path = `helm-${version}-${system}-${processor}.tar.gz`;
    return { path, checksumsPath: `${path}.sha256sum`, folder: `${system}-${processor}` };
  },
  buildTime: 'about two minutes',
};

/** Installs Helm if it is missing, and returns its absolute path. Error messages say what to do. */
export function helmProgram(): Promise<string> {
  return releasedProgram(helm);
}
