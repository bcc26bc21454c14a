/** Provides promtool, which the tests use to check metric names and alerts. */
import { join } from 'node:path';
import { type ReleasedProgram, releasedProgram } from './released-program.ts';
import { modulesDirectory } from './versions.ts';

export const promtool: ReleasedProgram = {
  name: 'promtool',
  purpose: 'the Prometheus tool for checking metrics and alerts',
  neededBy: 'The tests of metrics and alerts',
  variable: 'LOGFLEET_PROMTOOL',
  cacheName: 'promtool',
  modulesDirectory: join(modulesDirectory, 'promtool'),
  module: 'github.com/prometheus/prometheus',
  package: 'github.com/prometheus/prometheus/cmd/promtool',
  versionVariable: 'github.com/prometheus/common/version.Version',
  releases: 'https://github.com/prometheus/prometheus/releases/download',
  archive: (version, system, processor) => {
    const release = releaseOf(version);
    const folder = `prometheus-${release}.${system}-${processor}`;
    return { path: `v${release}/${folder}.tar.gz`, checksumsPath: `v${release}/sha256sums.txt`, folder };
  },
  // Without this build tag, Go would also compile the client libraries of all cloud providers, which takes time.
  tags: 'remove_all_sd',
  buildTime: 'about six minutes',
};

/** Returns the release that corresponds to a module version: `v0.316.0` is release `3.16.0`. */
function releaseOf(version: string): string {
  return version.replace(/^v0\.(\d)0?(\d+)\./, '$1.$2.');
}

/** Installs promtool if it is missing, and returns its absolute path. Error messages say what to do. */
export function promtoolProgram(): Promise<string> {
  return releasedProgram(promtool);
}
