/** Provides versitygw, an S3 store backed by a folder, for tests. */
import { join } from 'node:path';
import { capitalized, type ReleasedProgram, releasedProgram } from './released-program.ts';
import { modulesDirectory } from './versions.ts';

export const s3Gateway: ReleasedProgram = {
  name: 'versitygw',
  purpose: 'a small S3 store',
  neededBy: 'The tests of destinations',
  variable: 'LOGFLEET_S3_GATEWAY',
  cacheName: 's3-gateway',
  modulesDirectory: join(modulesDirectory, 's3-gateway'),
  module: 'github.com/versity/versitygw',
  package: 'github.com/versity/versitygw/cmd/versitygw',
  versionVariable: 'main.Version',
  releases: 'https://github.com/versity/versitygw/releases/download',
  archive: (version, system, processor) => {
    const folder = `versitygw_${version}_${capitalized(system)}_${processor === 'amd64' ? 'x86_64' : processor}`;
    return { path: `${version}/${folder}.tar.gz`, checksumsPath: `${version}/checksums.txt`, folder };
  },
  buildTime: 'about 80 seconds',
};

/** Installs versitygw if it is missing, and returns its absolute path. Error messages say what to do. */
export function s3GatewayProgram(): Promise<string> {
  return releasedProgram(s3Gateway);
}
