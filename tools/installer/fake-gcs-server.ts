/** Provides fake-gcs-server, an emulator for Google Cloud Storage. */
import { join } from 'node:path';
import { capitalized, type ReleasedProgram, releasedProgram } from './released-program.ts';
import { modulesDirectory } from './versions.ts';

export const fakeGcsServer: ReleasedProgram = {
  name: 'fake-gcs-server',
  purpose: 'an emulator for Google Cloud Storage',
  neededBy: 'The tests of destinations',
  variable: 'LOGFLEET_FAKE_GCS_SERVER',
  cacheName: 'fake-gcs-server',
  modulesDirectory: join(modulesDirectory, 'fake-gcs-server'),
  module: 'github.com/fsouza/fake-gcs-server',
  package: 'github.com/fsouza/fake-gcs-server',
  versionVariable: 'main.Version',
  releases: 'https://github.com/fsouza/fake-gcs-server/releases/download',
  archive: (version, system, processor) => ({
    path: `${version}/fake-gcs-server_${version.slice(1)}_${capitalized(system)}_${processor}.tar.gz`,
    checksumsPath: `${version}/checksums.txt`,
    folder: '.',
  }),
  buildTime: 'about a minute',
};

/** Installs fake-gcs-server if it is missing, and returns its absolute path. Error messages say what to do. */
export function fakeGcsServerProgram(): Promise<string> {
  return releasedProgram(fakeGcsServer);
}
