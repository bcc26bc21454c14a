/** Provides Azurite, Microsoft's emulator for Azure Blob Storage, from `LOGFLEET_AZURITE`, the cache, or npm. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type NpmTool, npmModules, npmToolVersion } from './npm-packages.ts';

const script = join('azurite', 'dist', 'src', 'blob', 'main.js');

const azurite: NpmTool = {
  folder: 'azurite',
  mainPackage: 'azurite',
  describe: (version) => `Azurite ${version} with npm, 245 MB`,
  explain: (version, reason) =>
    `The tests of destinations need Azurite ${version}, which npm cannot install (${reason}). Give this machine access to an ` +
    `npm registry, or set LOGFLEET_AZURITE to the script ${script} in the node_modules of an installed Azurite. Then run this command again.`,
};

/** Installs Azurite if it is missing, and returns the absolute path of its script. Error messages say what to do. */
export async function azuriteScript(): Promise<string> {
  const given = process.env['LOGFLEET_AZURITE'];
  if (given && existsSync(given)) return given;
  if (given) {
    throw new Error(
      `LOGFLEET_AZURITE names ${given}, which cannot be found. Set it to the path of Azurite's ${script}, or unset it.`,
    );
  }
  return join(await npmModules(azurite), script);
}

export function azuriteVersion(): string {
  return npmToolVersion(azurite);
}
