/**
 * Provides Azurite, Microsoft's emulator of Azure Blob Storage, for the tests of destinations. It comes from the first of these sources that
 * has it: the script in `LOGFLEET_AZURITE`, the cache outside the checkout, npm. `tools/azurite/package-lock.json` fixes all versions.
 */
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cached } from './cache.ts';
import { startStep } from './progress.ts';
import { modulesDirectory } from './versions.ts';

const packageDirectory = join(modulesDirectory, 'azurite');
const script = join('node_modules', 'azurite', 'dist', 'src', 'blob', 'main.js');

/** Returns the absolute path of the script that Node runs. The message of an error says what to do. */
export async function azuriteScript(): Promise<string> {
  const given = process.env['LOGFLEET_AZURITE'];
  if (given && existsSync(given)) return given;
  if (given) {
    throw new Error(`LOGFLEET_AZURITE names ${given}, which cannot be found. Name Azurite's ${script}, or unset it.`);
  }
  return join(await cached('azurite', azuriteVersion(), install), script);
}

/** Returns the version in tools/azurite/package.json. */
export function azuriteVersion(): string {
  return JSON.parse(readFileSync(join(packageDirectory, 'package.json'), 'utf8')).dependencies.azurite;
}

async function install(directory: string): Promise<void> {
  const step = startStep(`installing Azurite ${azuriteVersion()} with npm, 245 MB once on this machine`);
  try {
    for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
      copyFileSync(join(packageDirectory, name), join(directory, name));
    }
    await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--loglevel=error'], { cwd: directory });
    step.end('done');
  } catch (cause) {
    throw new Error(nowhereToBeHad((cause as Error).message), { cause });
  } finally {
    step.end();
  }
}

function nowhereToBeHad(reason: string): string {
  return (
    `The tests of destinations need Azurite ${azuriteVersion()}, which npm cannot install (${reason}). Give this machine access ` +
    `to a registry of npm, or set LOGFLEET_AZURITE to the ${script} of an installed Azurite. Then run this again.`
  );
}
